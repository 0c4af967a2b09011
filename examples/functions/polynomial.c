/* The values of a polynomial with five coefficients at n points. */
void polynomial(const int *restrict c, const int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int k = 0; k < 5; k++)
      sum = sum * x[i] + c[k];
    y[i] = sum;
  }
}
