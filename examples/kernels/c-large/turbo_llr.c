// Max-log-MAP decoder of the 3GPP turbo code: forward recursion over eight states and likelihood ratios of two bits.
static inline int max(int a, int b) {
  return a > b ? a : b;
}

void turbo_llr(const int *restrict sys, const int *restrict par, const int (*restrict beta)[8], int *restrict llr, int n) {
  int a0 = 0, a1 = -4096, a2 = -4096, a3 = -4096, a4 = -4096, a5 = -4096, a6 = -4096, a7 = -4096;
#pragma gridloom
  for (int i = 0; i < n; i += 2) {
#pragma unroll
    for (int k = i; k < i + 2; k++) {
      int s = sys[k], p = par[k], g = s + p, h = s - p;
      const int *b = beta[k];
      int zero = max(max(a0 + b[0] - g, a1 + b[4] - g), max(a2 + b[5] - h, a3 + b[1] - h));
      zero = max(zero, max(max(a4 + b[2] - h, a5 + b[6] - h), max(a6 + b[7] - g, a7 + b[3] - g)));
      int one = max(max(a0 + b[4] + g, a1 + b[0] + g), max(a2 + b[1] + h, a3 + b[5] + h));
      one = max(one, max(max(a4 + b[6] + h, a5 + b[2] + h), max(a6 + b[3] + g, a7 + b[7] + g)));
      llr[k] = one - zero;
      int n0 = max(a0 - g, a1 + g), n1 = max(a3 - h, a2 + h), n2 = max(a4 - h, a5 + h), n3 = max(a7 - g, a6 + g);
      int n4 = max(a1 - g, a0 + g), n5 = max(a2 - h, a3 + h), n6 = max(a5 - h, a4 + h), n7 = max(a6 - g, a7 + g);
      a0 = 0, a1 = n1 - n0, a2 = n2 - n0, a3 = n3 - n0, a4 = n4 - n0, a5 = n5 - n0, a6 = n6 - n0, a7 = n7 - n0;
    }
  }
}
