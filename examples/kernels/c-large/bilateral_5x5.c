// Bilateral filter with a window of five by five pixels and a table of range weights.
#include <stdint.h>
#define W 512

void bilateral_5x5(const uint8_t (*restrict in)[W], const uint8_t *restrict range, uint8_t *restrict out, int n) {
  static const int space[3] = {8, 5, 2};
#pragma gridloom
  for (int x = 2; x < n; x++) {
    int centre = in[2][x], sum = 0, weights = 0;
#pragma unroll
    for (int r = -2; r <= 2; r++)
#pragma unroll
      for (int c = -2; c <= 2; c++) {
        int pixel = in[r + 2][x + c], difference = pixel - centre;
        int weight = space[r < 0 ? -r : r] * space[c < 0 ? -c : c] * range[difference < 0 ? -difference : difference];
        sum += weight * pixel;
        weights += weight;
      }
    out[x] = (sum + (weights >> 1)) / (weights | 1);
  }
}
