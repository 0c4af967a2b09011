/* Kernels whose accesses go where the data say. */
int spmv(n, row, col, val, x, y) int n; int *row, *col, *val, *x, *y;
{
  int i, j;
  for (i = 0; i < n; i++) { int sum = 0; for (j = row[i]; j < row[i + 1]; j++) sum += val[j] * x[col[j]]; y[i] = sum; }
  return y[0];
}
void histogram(unsigned char *image, int *bins, int n) { int i; for (i = 0; i < n; i++) bins[image[i]]++; }
int triangle(int n, int *a, int *x) {
  int i, j, t = 0;
  for (i = 0; i < n; i++) for (j = 0; j <= i; j++) t += a[i * n + j] * x[j];
  return t;
}
