// One channel of a picture over another by an alpha of 0 to 255, rounded.
#include <stdint.h>

void alpha_blend(const uint8_t *restrict front, const uint8_t *restrict back, const uint8_t *restrict alpha,
                 uint8_t *restrict out, int n) {
  for (int i = 0; i < n; i++) {
    int mixed = alpha[i] * front[i] + (255 - alpha[i]) * back[i] + 128;
    out[i] = (mixed + (mixed >> 8)) >> 8;
  }
}
