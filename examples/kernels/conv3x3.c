// A row of a 3 x 3 convolution over an image 64 pixels wide.
#include <stdint.h>
#define W 64

void conv3x3(const uint8_t *restrict in, int16_t *restrict out, int n) {
  for (int i = 0; i < n; i++) {
    const uint8_t *p = in + i;
    int sum = p[0] + 2 * p[1] + p[2];
    sum += 2 * p[W] + 4 * p[W + 1] + 2 * p[W + 2];
    sum += p[2 * W] + 2 * p[2 * W + 1] + p[2 * W + 2];
    out[i] = sum >> 4;
  }
}
