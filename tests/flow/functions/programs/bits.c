/* Counting bits in several ways, called through a table of functions. */
#include <stdio.h>
#include <stdlib.h>
static int kernighan(long x) { int n = 0; if (x) do n++; while (0 != (x = x & (x - 1))); return n; }
static int shifted(long x) { int i, n; for (i = n = 0; x && (i < 32); ++i, x >>= 1) n += (int)(x & 1L); return n; }
static char table[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
static int nibbles(long x) { int n = table[x & 15]; if (0L != (x = (x >> 4) & 0x0fffffffL)) n += nibbles(x); return n; }
static int (*counters[])(long) = {kernighan, shifted, nibbles};
int main(void) {
  int k;
  for (k = 0; k < 3; k++) {
    long j, n = 0, seed = 13;
    for (j = 0; j < 50; j++, seed += 13) n += counters[k](seed & 0x7fffffff);
    printf("%d: %ld\n", k, n);
  }
  return 0;
}
