// A row of a matrix product: sixteen products and their sum for each column.
#define K 16
#define N 4096

void gemm16(const int *restrict a, const int (*restrict b)[N], int *restrict c) {
#pragma gridloom
  for (int j = 0; j < N; j++) {
    int sum = 0;
#pragma unroll
    for (int k = 0; k < K; k++)
      sum += a[k] * b[k][j];
    c[j] = sum;
  }
}
