// GSM 06.10: cross-correlation of a subsegment with the past at two lags in an iteration, and its maximum.
void gsm_lag(const short *restrict wt, const short *restrict dp, int *restrict result, int n) {
  int best = 0, at = 40;
#pragma gridloom
  for (int lambda = 40; lambda < n; lambda += 2) {
    int sum = 0, next = 0;
#pragma unroll
    for (int k = 0; k < 40; k++) {
      sum += wt[k] * dp[k - lambda + 1120];
      next += wt[k] * dp[k - lambda + 1119];
    }
    if (sum > best) {
      at = lambda;
      best = sum;
    }
    if (next > best) {
      at = lambda + 1;
      best = next;
    }
  }
  result[0] = best;
  result[1] = at;
}
