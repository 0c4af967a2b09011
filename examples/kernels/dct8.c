// Even half of an 8-point DCT of each row (coefficients in Q10).
void dct8(const int (*restrict in)[8], int (*restrict out)[4], int rows) {
  for (int r = 0; r < rows; r++) {
    int s0 = in[r][0] + in[r][7], s1 = in[r][1] + in[r][6];
    int s2 = in[r][2] + in[r][5], s3 = in[r][3] + in[r][4];
    int e0 = s0 + s3, e1 = s1 + s2, e2 = s0 - s3, e3 = s1 - s2;
    out[r][0] = (724 * (e0 + e1)) >> 10;
    out[r][1] = (946 * e2 + 392 * e3) >> 10;
    out[r][2] = (724 * (e0 - e1)) >> 10;
    out[r][3] = (392 * e2 - 946 * e3) >> 10;
  }
}
