// x1 += A y1 and x2 += A' y2, one row of both in the innermost loop.
#define N 32

void mvt(const int (*restrict a)[N], int *restrict x1, int *restrict x2, const int *restrict y1, const int *restrict y2) {
  for (int i = 0; i < N; i++) {
    int first = x1[i], second = x2[i];
    for (int j = 0; j < N; j++) {
      first += a[i][j] * y1[j];
      second += a[j][i] * y2[j];
    }
    x1[i] = first;
    x2[i] = second;
  }
}
