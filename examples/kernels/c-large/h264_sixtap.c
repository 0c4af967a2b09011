// H.264: half-pixel luma of eight neighbours by the six-tap filter, averaged with the full pixel.
#include <stdint.h>

static inline uint8_t clip(int x) {
  return x < 0 ? 0 : x > 255 ? 255 : x;
}

void h264_sixtap(const uint8_t *restrict src, uint8_t *restrict dst, int stride, int n) {
#pragma gridloom
  for (int y = 0; y < n; y++) {
    const uint8_t *s = src + y * stride + 2;
#pragma unroll
    for (int x = 0; x < 8; x++) {
      int v = (s[x] + s[x + 1]) * 20 - (s[x - 1] + s[x + 2]) * 5 + s[x - 2] + s[x + 3];
      dst[8 * y + x] = (clip((v + 16) >> 5) + s[x] + 1) >> 1;
    }
  }
}
