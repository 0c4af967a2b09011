// Nearest of two centroids for points of two coordinates.
#include <stdint.h>

void kmeans_distance(const int16_t (*restrict p)[2], uint8_t *restrict nearest, int ax, int ay, int bx, int by, int n) {
  for (int i = 0; i < n; i++) {
    int dx = p[i][0] - ax, dy = p[i][1] - ay;
    int ex = p[i][0] - bx, ey = p[i][1] - by;
    nearest[i] = ex * ex + ey * ey < dx * dx + dy * dy;
  }
}
