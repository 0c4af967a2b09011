/* CRC-32 with a table that is built first. */
#include <stdio.h>
typedef unsigned long DWORD;
#define UPDC32(octet, crc) (crc_table[((crc) ^ (octet)) & 0xff] ^ ((crc) >> 8))
static DWORD crc_table[256];
static unsigned char text[300];
void build(void) {
  DWORD n, c; int k;
  for (n = 0; n < 256; n++) { c = n; for (k = 0; k < 8; k++) c = c & 1 ? 0xedb88320UL ^ (c >> 1) : c >> 1; crc_table[n] = c; }
}
DWORD crc32buf(char *buf, size_t len) {
  register DWORD oldcrc32 = 0xFFFFFFFF;
  for (; len; --len, ++buf) oldcrc32 = UPDC32(*buf, oldcrc32);
  return ~oldcrc32;
}
int main(int argc, char *argv[]) {
  int k;
  for (k = 0; k < 300; k++) text[k] = k * 7;
  build();
  printf("%08lX\n", crc32buf((char *)text, 300));
  fprintf(stderr, "done\n");
  return 0;
}
