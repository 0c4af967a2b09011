// Ones in each word, by adding neighbouring fields.
#include <stdint.h>

int bitcount(const uint32_t *restrict words, uint8_t *restrict counts, int n) {
  int total = 0;
  for (int i = 0; i < n; i++) {
    uint32_t x = words[i];
    x -= x >> 1 & 0x55555555;
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f;
    int ones = x * 0x01010101 >> 24;
    counts[i] = ones;
    total += ones;
  }
  return total;
}
