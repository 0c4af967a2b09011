// Smoothing as in SUSAN: neighbours weigh by how similar they are to the centre, from a table.
#include <stdint.h>

int susan_smooth(const uint8_t *restrict pixel, const uint8_t *restrict mask, const uint8_t *restrict weight,
                 int *restrict result, int centre, int n) {
  int area = 0, total = 0;
  for (int k = 0; k < n; k++) {
    int brightness = pixel[k];
    int w = mask[k] * weight[brightness - centre + 255];
    area += w;
    total += w * brightness;
  }
  result[0] = area;
  return total;
}
