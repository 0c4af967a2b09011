#include <stdint.h>

/* A picture of h rows, each darkened by a row of weights. */
void blend(int h, int w, const uint8_t *restrict in, const uint8_t *restrict weights, uint8_t *restrict out) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      out[y * w + x] = in[y * w + x] * weights[x] >> 8;
}
