// Integer square roots, one bit of the root an iteration of the inner loop.
#include <stdint.h>

void isqrt(const uint32_t *restrict x, uint32_t *restrict root, int n) {
  for (int i = 0; i < n; i++) {
    uint32_t rest = x[i], found = 0, bit = 1u << 30;
#pragma gridloom
    for (int step = 0; step < 16; step++) {
      uint32_t trial = found + bit;
      found >>= 1;
      if (rest >= trial) {
        rest -= trial;
        found += bit;
      }
      bit >>= 2;
    }
    root[i] = found;
  }
}
