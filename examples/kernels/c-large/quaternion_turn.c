// Orientation by a product of quaternions in Q14, and the rotation matrix that it stands for.
#define MUL(a, b) (((a) * (b)) >> 14)

void quaternion_turn(const int (*restrict p)[4], const int (*restrict q)[4], int (*restrict m)[9], int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    int a = p[i][0], b = p[i][1], c = p[i][2], d = p[i][3];
    int e = q[i][0], f = q[i][1], g = q[i][2], h = q[i][3];
    int w = (a * e - b * f - c * g - d * h) >> 14, x = (a * f + b * e + c * h - d * g) >> 14;
    int y = (a * g - b * h + c * e + d * f) >> 14, z = (a * h + b * g - c * f + d * e) >> 14;
    int xx = MUL(x, x), yy = MUL(y, y), zz = MUL(z, z), xy = MUL(x, y), xz = MUL(x, z), yz = MUL(y, z);
    int wx = MUL(w, x), wy = MUL(w, y), wz = MUL(w, z);
    m[i][0] = 16384 - 2 * (yy + zz);
    m[i][1] = 2 * (xy - wz);
    m[i][2] = 2 * (xz + wy);
    m[i][3] = 2 * (xy + wz);
    m[i][4] = 16384 - 2 * (xx + zz);
    m[i][5] = 2 * (yz - wx);
    m[i][6] = 2 * (xz - wy);
    m[i][7] = 2 * (yz + wx);
    m[i][8] = 16384 - 2 * (xx + yy);
  }
}
