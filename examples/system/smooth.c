#include <stdio.h>

#define N 512

static short samples[N];
static int smoothed[N];

/* Smooths a signal with five taps and returns the sum of what is above a threshold. */
__attribute__((noinline)) int smooth(const short *restrict x, int *restrict y, int n, int threshold) {
  int sum = 0;
  for (int i = 0; i < n - 4; i++) {
    int v = (x[i] + 4 * x[i + 1] + 6 * x[i + 2] + 4 * x[i + 3] + x[i + 4]) >> 4;
    y[i] = v;
    sum += v > threshold ? v - threshold : 0;
  }
  return sum;
}

int main(void) {
  unsigned state = 1;
  for (int i = 0; i < N; i++) {
    state = state * 1664525u + 1013904223u;
    samples[i] = (short)(state >> 18);
  }
  int sum = smooth(samples, smoothed, N, 4000);
  printf("sum %d\n", sum);
  for (int i = 0; i < N; i += 64) printf("y[%d] = %d\n", i, smoothed[i]);
  return 0;
}
