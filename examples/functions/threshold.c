#include <stdint.h>

/* Smooths a signal with a window of three samples and returns the first sample above a threshold, or -1. */
int first_above(const int16_t *restrict x, int *restrict y, int n, int threshold) {
  y[0] = x[0];
  for (int i = 1; i < n - 1; i++)
    y[i] = (x[i - 1] + 2 * x[i] + x[i + 1]) >> 2;
  y[n - 1] = x[n - 1];
  for (int i = 0; i < n; i++)
    if (y[i] > threshold)
      return i;
  return -1;
}
