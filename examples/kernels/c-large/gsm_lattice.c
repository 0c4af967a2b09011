// GSM 06.10: short-term synthesis filter, a lattice of eight stages in saturated arithmetic.
static inline int sat(int x) {
  return x < -32768 ? -32768 : x > 32767 ? 32767 : x;
}

static inline int mult_r(int a, int b) {
  return a == -32768 && b == -32768 ? 32767 : (a * b + 16384) >> 15;
}

void gsm_lattice(const short *restrict rrp, const short *restrict wt, short *restrict sr, int n) {
  int v[9] = {0};
#pragma gridloom
  for (int k = 0; k < n; k++) {
    int sri = wt[k];
#pragma unroll
    for (int i = 7; i >= 0; i--) {
      sri = sat(sri - mult_r(rrp[i], v[i]));
      v[i + 1] = sat(v[i] + mult_r(rrp[i], sri));
    }
    v[0] = sri;
    sr[k] = sri;
  }
}
