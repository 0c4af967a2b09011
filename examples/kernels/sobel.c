// Edge strength along three rows of pixels, clamped to a byte.
#include <stdint.h>
#include <stdlib.h>

void sobel(const uint8_t *restrict above, const uint8_t *restrict row, const uint8_t *restrict below,
           uint8_t *restrict edge, int n) {
  for (int i = 0; i < n; i++) {
    int gx = above[i + 2] - above[i] + 2 * (row[i + 2] - row[i]) + below[i + 2] - below[i];
    int gy = below[i] - above[i] + 2 * (below[i + 1] - above[i + 1]) + below[i + 2] - above[i + 2];
    int strength = abs(gx) + abs(gy);
    edge[i] = strength > 255 ? 255 : strength;
  }
}
