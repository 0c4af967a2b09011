// Finite impulse response filter of eight taps, Q15.
#include <stdint.h>

void fir(const int16_t *restrict x, const int16_t *restrict c, int16_t *restrict y, int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    int sum = 1 << 14;
#pragma unroll
    for (int k = 0; k < 8; k++)
      sum += c[k] * x[i + k];
    y[i] = sum >> 15;
  }
}
