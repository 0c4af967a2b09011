// Running sums of an array.
int prefix_sum(const int *restrict x, int *restrict sums, int start, int n) {
  int sum = start;
  for (int i = 0; i < n; i++) {
    sum += x[i];
    sums[i] = sum;
  }
  return sum;
}
