// Adaptive filter by least mean squares with sixteen taps in Q15; taps are kept in memory.
void lms_16(const int *restrict x, const int *restrict d, int *restrict w, int *restrict e, int mu, int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    int y = 0;
#pragma unroll
    for (int k = 0; k < 16; k++)
      y += (w[k] * x[i + k]) >> 15;
    int error = d[i] - y, step = (error * mu) >> 15;
    e[i] = error;
#pragma unroll
    for (int k = 0; k < 16; k++)
      w[k] += (step * x[i + k]) >> 15;
  }
}
