int weights[8] = {1, -2, 3, -4, 5, -6, 7, -8};
int mix(int *x, int n) {
  int i, k, sum = 0;
  for (i = 0; i + 8 <= n; i++) { int v = 0; for (k = 0; k < 8; k++) v += x[i + k] * weights[k]; x[i] = v; sum ^= v; }
  return sum;
}
