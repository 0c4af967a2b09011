// RANSAC: inliers of a homography among two matches in an iteration, by the symmetric transfer error in fixed point.
static inline int transfer(const int *restrict h, int x, int y, int u, int v, int limit) {
  int w = ((h[6] * x + h[7] * y) >> 12) + h[8];
  int px = ((h[0] * x + h[1] * y) >> 4) + h[2], py = ((h[3] * x + h[4] * y) >> 4) + h[5];
  w = w < 1 ? 1 : w;
  int dx = u - px / w, dy = v - py / w, error = dx * dx + dy * dy;
  return error > limit ? limit : error;
}

void ransac_score(const int (*restrict p)[2], const int (*restrict q)[2], const int *restrict h, const int *restrict g,
                  int limit, int *restrict score, int n) {
  int inliers = 0, total = 0;
#pragma gridloom
  for (int i = 0; i < n; i++) {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      int x = p[2 * i + k][0], y = p[2 * i + k][1], u = q[2 * i + k][0], v = q[2 * i + k][1];
      int forward = transfer(h, x, y, u, v, limit), back = transfer(g, u, v, x, y, limit);
      int inside = forward < limit && back < limit;
      inliers += inside;
      total += forward + back;
      score[2 * i + k + 2] = inside ? forward + back : -1;
    }
  }
  score[0] = inliers;
  score[1] = total;
}
