// CORDIC rotation, fourteen steps written out: sine and cosine of an angle.
void cordic_rotate(const int *restrict angle, const int *restrict table, int *restrict sine, int *restrict cosine, int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    int x = 39797, y = 0, z = angle[i];
#pragma unroll
    for (int k = 0; k < 14; k++) {
      int dx = x >> k, dy = y >> k;
      if (z < 0) {
        x += dy;
        y -= dx;
        z += table[k];
      } else {
        x -= dy;
        y += dx;
        z -= table[k];
      }
    }
    cosine[i] = x;
    sine[i] = y;
  }
}
