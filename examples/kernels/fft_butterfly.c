// Radix-2 butterflies of one stage, decimation in time, twiddle factors in Q15.
#include <stdint.h>

struct sample {
  int32_t re, im;
};

void fft_butterfly(const struct sample *restrict a, const struct sample *restrict b, const struct sample *restrict w,
                   struct sample *restrict up, struct sample *restrict down, int n) {
  for (int i = 0; i < n; i++) {
    int re = (w[i].re * b[i].re - w[i].im * b[i].im) >> 15;
    int im = (w[i].re * b[i].im + w[i].im * b[i].re) >> 15;
    up[i].re = a[i].re + re;
    up[i].im = a[i].im + im;
    down[i].re = a[i].re - re;
    down[i].im = a[i].im - im;
  }
}
