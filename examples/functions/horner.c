/* The values of a polynomial with 64 coefficients at n points. */
void horner(const int *restrict c, const int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int k = 0; k < 64; k++)
      sum = sum * x[i] + c[k];
    y[i] = sum;
  }
}
