/* Kernels of linear algebra as suites of compilers have them: macros for sizes and types, arrays of the file or parameters. */
#ifndef N
#define N 16
#endif
#define DATA_TYPE int
DATA_TYPE A[N][N], B[N][N], C4[N][N], sum[N], s[N], q[N], p[N], r[N];
void kernel_bicg(void) {
  int i, j;
  for (i = 0; i < N; i++) s[i] = 0;
  for (i = 0; i < N; i++) { q[i] = 0; for (j = 0; j < N; j++) { s[j] = s[j] + r[i] * A[i][j]; q[i] = q[i] + A[i][j] * p[j]; } }
}
void kernel_atax(int nx, int ny, DATA_TYPE A[N][N], DATA_TYPE x[N], DATA_TYPE y[N], DATA_TYPE tmp[N]) {
  int i, j;
  for (i = 0; i < N; i++) y[i] = 0;
  for (i = 0; i < nx; i++) {
    tmp[i] = 0;
    for (j = 0; j < ny; j++) tmp[i] = tmp[i] + A[i][j] * x[j];
    for (j = 0; j < ny; j++) y[j] = y[j] + A[i][j] * tmp[i];
  }
}
void kernel_doitgen(void) {
  int q_, p_, s_;
  for (q_ = 0; q_ < N; q_++) {
    for (p_ = 0; p_ < N; p_++) { sum[p_] = 0; for (s_ = 0; s_ < N; s_++) sum[p_] += A[q_][s_] * C4[s_][p_]; }
    for (p_ = 0; p_ < N; p_++) A[q_][p_] = sum[p_];
  }
}
void kernel_jacobi(int tsteps, int A[N][N], int B[N][N]) {
  int t, i, j;
  for (t = 0; t < tsteps; t++) {
    for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) B[i][j] = (A[i][j] + A[i][j-1] + A[i][1+j] + A[1+i][j] + A[i-1][j]) / 5;
    for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) A[i][j] = B[i][j];
  }
}
