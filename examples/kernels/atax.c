// y += A' (A x): the second product of a row.
#define N 32

void atax(const int (*restrict a)[N], const int *restrict x, int *restrict y, int rows) {
  for (int i = 0; i < rows; i++) {
    int dot = 0;
    for (int j = 0; j < N; j++)
      dot += a[i][j] * x[j];
#pragma gridloom
    for (int j = 0; j < N; j++)
      y[j] += a[i][j] * dot;
  }
}
