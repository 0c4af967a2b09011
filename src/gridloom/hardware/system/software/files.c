/* Files of a program without an operating system: those that it reads are tables, those that it writes are printed. */
#ifndef __PICOLIBC__
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <string.h>
#include "files.h"

static const gl_file *find(const char *name) {
  for (unsigned k = 0; k < gl_file_count; k++)
    if (!strcmp(gl_files[k].name, name)) return &gl_files[k];
  return 0;
}

#ifdef __PICOLIBC__
/* A file that is read; its stream comes first, so that one is known by the other. */
typedef struct { FILE stream; const gl_file *source; unsigned at; } opened;
static opened files[16];
static unsigned count;

void gl_letter(int c);
static int put(char c, FILE *file) {
  (void)file;
  gl_letter(c);
  return (unsigned char)c;
}
static int get(FILE *stream) {
  opened *file = (opened *)stream;
  if (!file->source) file->source = find("-");
  return file->source && file->at < file->source->size ? file->source->bytes[file->at++] : _FDEV_EOF;
}
static FILE written = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
static opened input = {FDEV_SETUP_STREAM(NULL, get, NULL, _FDEV_SETUP_READ), 0, 0};
FILE *const stdin = &input.stream;

FILE *fopen(const char *restrict name, const char *restrict mode) {
  if (mode[0] != 'r') return &written;
  const gl_file *source = find(name);
  if (!source || count == sizeof files / sizeof *files) return 0;
  files[count] = (opened){FDEV_SETUP_STREAM(NULL, get, NULL, _FDEV_SETUP_READ), source, 0};
  return &files[count++].stream;
}
int fclose(FILE *stream) {
  (void)stream;
  return 0;
}
int fseek(FILE *stream, long offset, int from) {
  opened *file = (opened *)stream;
  long at = offset + (from == SEEK_SET ? 0 : from == SEEK_CUR ? ftell(stream) : (long)file->source->size);
  if (at < 0 || stream == &written) return -1;
  clearerr(stream);
  stream->unget = 0;
  file->at = (unsigned)at;
  return 0;
}
long ftell(FILE *stream) { return (long)((opened *)stream)->at - !!stream->unget; }
void rewind(FILE *stream) { fseek(stream, 0, SEEK_SET); }
#else
static ssize_t put(void *cookie, const char *bytes, size_t size) {
  (void)cookie;
  return (ssize_t)fwrite(bytes, 1, size, stdout);
}

FILE *fopen(const char *restrict name, const char *restrict mode) {
  if (mode[0] == 'r') {
    const gl_file *file = find(name);
    return file ? fmemopen((void *)file->bytes, file->size, "rb") : 0;
  }
  FILE *file = fopencookie(0, "w", (cookie_io_functions_t){.write = put});
  setvbuf(file, 0, _IONBF, 0);
  return file;
}
#endif
