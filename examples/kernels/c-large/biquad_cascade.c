// Eight second-order sections of a filter in cascade, Q14, with rounding and saturation.
static inline int sat(int x) {
  return x < -32768 ? -32768 : x > 32767 ? 32767 : x;
}

void biquad_cascade(const short *restrict x, const short (*restrict c)[5], short *restrict y, int n) {
  int d1[8] = {0}, d2[8] = {0};
#pragma gridloom
  for (int i = 0; i < n; i++) {
    int v = x[i];
#pragma unroll
    for (int k = 0; k < 8; k++) {
      int w = sat((c[k][0] * v + d1[k] + 8192) >> 14);
      d1[k] = c[k][1] * v - c[k][3] * w + d2[k];
      d2[k] = c[k][2] * v - c[k][4] * w;
      v = w;
    }
    y[i] = v;
  }
}
