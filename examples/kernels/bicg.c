// BiCG's two products of a row at once: s += A' r, q = A p.
#define N 32

void bicg(const int (*restrict a)[N], int *restrict s, int *restrict q, const int *restrict p, const int *restrict r, int rows) {
  for (int i = 0; i < rows; i++) {
    int sum = 0;
    for (int j = 0; j < N; j++) {
      s[j] += r[i] * a[i][j];
      sum += a[i][j] * p[j];
    }
    q[i] = sum;
  }
}
