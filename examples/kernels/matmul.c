// Product of two square matrices; the innermost loop is one element of the result.
#define N 16

void matmul(const int (*restrict a)[N], const int (*restrict b)[N], int (*restrict c)[N]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      int sum = 0;
      for (int k = 0; k < N; k++)
        sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}
