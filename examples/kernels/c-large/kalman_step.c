// Kalman filter with position and velocity on two axes, in fixed point; state and covariances are carried.
#define MUL(a, b) (((a) * (b)) >> 10)

#define AXIS(z, x, v, p, c, r)                   \
  {                                              \
    x += v;                                      \
    p += 2 * c + r + q;                          \
    c += r;                                      \
    r += q;                                      \
    int s = p + noise, gain = (p << 10) / (s | 1), rate = (c << 10) / (s | 1); \
    int off = z - x;                             \
    x += MUL(gain, off);                         \
    v += MUL(rate, off);                         \
    r -= MUL(rate, c);                           \
    c -= MUL(gain, c);                           \
    p -= MUL(gain, p);                           \
  }

void kalman_step(const int (*restrict z)[3], int (*restrict out)[6], int q, int noise, int n) {
  int x = 0, vx = 0, px = 4096, cx = 0, rx = 4096, y = 0, vy = 0, py = 4096, cy = 0, ry = 4096;
  int h = 0, vh = 0, ph = 4096, ch = 0, rh = 4096;
#pragma gridloom
  for (int i = 0; i < n; i++) {
    AXIS(z[i][0], x, vx, px, cx, rx);
    AXIS(z[i][1], y, vy, py, cy, ry);
    AXIS(z[i][2], h, vh, ph, ch, rh);
    out[i][0] = x;
    out[i][1] = vx;
    out[i][2] = y;
    out[i][3] = vy;
    out[i][4] = h;
    out[i][5] = vh;
  }
}
