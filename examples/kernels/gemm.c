// C = alpha A B + beta C in single precision; the innermost loop is one dot product.
#define N 16

void gemm(float alpha, float beta, const float (*restrict a)[N], const float (*restrict b)[N], float (*restrict c)[N]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      float sum = 0;
      for (int k = 0; k < N; k++)
        sum += alpha * a[i][k] * b[k][j];
      c[i][j] = beta * c[i][j] + sum;
    }
}
