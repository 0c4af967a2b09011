// RGB to YUV 4:2:0 in full range: two blocks of four pixels in an iteration, with clipping.
#include <stdint.h>

static inline uint8_t clip(int x) {
  return x < 0 ? 0 : x > 255 ? 255 : x;
}

void yuv420_block(const uint8_t *restrict top, const uint8_t *restrict bottom, uint8_t *restrict y0, uint8_t *restrict y1,
                  uint8_t *restrict u, uint8_t *restrict v, int n) {
#pragma gridloom
  for (int i = 0; i < n; i += 2) {
#pragma unroll
    for (int j = i; j < i + 2; j++) {
      int r = 0, g = 0, b = 0;
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const uint8_t *p = (k < 2 ? top : bottom) + 6 * j + 3 * (k & 1);
        (k < 2 ? y0 : y1)[2 * j + (k & 1)] = clip((77 * p[0] + 151 * p[1] + 29 * p[2] + 128) >> 8);
        r += p[0];
        g += p[1];
        b += p[2];
      }
      u[j] = clip(((-43 * r - 85 * g + 128 * b + 512) >> 10) + 128);
      v[j] = clip(((128 * r - 107 * g - 21 * b + 512) >> 10) + 128);
    }
  }
}
