// Second-order recursive filter (direct form I) with coefficients in Q14.
#include <stdint.h>

void iir(const int16_t *restrict x, int32_t *restrict y, int b0, int b1, int b2, int a1, int a2, int n) {
  int x1 = 0, x2 = 0, y1 = 0, y2 = 0;
  for (int i = 0; i < n; i++) {
    int x0 = x[i];
    int y0 = (b0 * x0 + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2) >> 14;
    y[i] = y0;
    x2 = x1;
    x1 = x0;
    y2 = y1;
    y1 = y0;
  }
}
