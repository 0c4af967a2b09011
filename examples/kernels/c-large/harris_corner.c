// Harris corner response of a row: Sobel gradients in a window of three by three, and the determinant.
#include <stdint.h>
#define W 512

void harris_corner(const uint8_t (*restrict in)[W], int *restrict out, int n) {
#pragma gridloom
  for (int x = 2; x < n; x++) {
    int xx = 0, yy = 0, xy = 0;
#pragma unroll
    for (int r = 1; r < 4; r++)
#pragma unroll
      for (int c = -1; c < 2; c++) {
        int j = x + c;
        int gx = in[r - 1][j + 1] - in[r - 1][j - 1] + 2 * (in[r][j + 1] - in[r][j - 1]) + in[r + 1][j + 1] -
                 in[r + 1][j - 1];
        int gy = in[r + 1][j - 1] - in[r - 1][j - 1] + 2 * (in[r + 1][j] - in[r - 1][j]) + in[r + 1][j + 1] -
                 in[r - 1][j + 1];
        xx += gx * gx;
        yy += gy * gy;
        xy += gx * gy;
      }
    xx >>= 8, yy >>= 8, xy >>= 8;
    int trace = xx + yy;
    out[x] = xx * yy - xy * xy - ((trace * trace) >> 4);
  }
}
