/* Standard output of a program with printf: picolibc's, letter by letter; messages go nowhere. */
#include <stdio.h>

void gl_letter(int c);
static int put(char c, FILE *file) {
  (void)file;
  gl_letter(c);
  return (unsigned char)c;
}
static int drop(char c, FILE *file) {
  (void)file;
  return (unsigned char)c;
}
static FILE output = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdout = &output;
static FILE messages = FDEV_SETUP_STREAM(drop, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stderr = &messages;
