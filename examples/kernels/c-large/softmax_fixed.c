// Softmax of eight values in fixed point; the exponential is a power of two times a polynomial.
void softmax_fixed(const int (*restrict in)[8], int (*restrict out)[8], int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    int most = in[i][0], e[8], sum = 0;
#pragma unroll
    for (int k = 1; k < 8; k++)
      most = in[i][k] > most ? in[i][k] : most;
#pragma unroll
    for (int k = 0; k < 8; k++) {
      int x = (in[i][k] - most) >> 2, whole = -(x >> 10), part = x & 1023;
      int power = 16384 + 11 * part + ((part * part * 3) >> 10);
      e[k] = power >> (whole > 15 ? 15 : whole);
      sum += e[k];
    }
    int scale = 0x3fffffff / (sum | 1);
#pragma unroll
    for (int k = 0; k < 8; k++)
      out[i][k] = (e[k] * (scale >> 4)) >> 10;
  }
}
