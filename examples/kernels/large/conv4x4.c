// A row of a convolution with a window of four by four pixels.
#define W 4096

void conv4x4(const int (*restrict in)[W], const int *restrict window, int *restrict out) {
#pragma gridloom
  for (int j = 0; j < W - 4; j++) {
    int sum = 0;
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
      for (int c = 0; c < 4; c++)
        sum += window[4 * r + c] * in[r][j + c];
    out[j] = sum >> 8;
  }
}
