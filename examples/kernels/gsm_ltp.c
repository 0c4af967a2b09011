// GSM 06.10 long-term synthesis: the past signal, scaled and added with saturation.
#include <stdint.h>

static inline int16_t multiply_rounded(int16_t a, int16_t b) {
  return (a * b + 16384) >> 15;
}

static inline int16_t add_saturated(int a, int b) {
  int sum = a + b;
  return sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
}

void gsm_ltp(const int16_t *restrict residual, const int16_t *restrict past, int16_t *restrict signal, int16_t gain, int n) {
  for (int k = 0; k < n; k++)
    signal[k] = add_saturated(residual[k], multiply_rounded(gain, past[k]));
}
