// Running sums of an array, from a number on.
int prefix_sum(const int *restrict x, int *restrict sums, int start, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum += x[i];
    sums[i] = start + sum;
  }
  return sum;
}
