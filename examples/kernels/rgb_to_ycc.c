// RGB pixels to luma and chroma, Q16.
#include <stdint.h>

void rgb_to_ycc(const uint8_t (*restrict rgb)[3], uint8_t *restrict y, uint8_t *restrict cb, uint8_t *restrict cr, int n) {
  for (int i = 0; i < n; i++) {
    int r = rgb[i][0], g = rgb[i][1], b = rgb[i][2];
    y[i] = (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
    cb[i] = (-11059 * r - 21709 * g + 32768 * b + 8421375) >> 16;
    cr[i] = (32768 * r - 27439 * g - 5329 * b + 8421375) >> 16;
  }
}
