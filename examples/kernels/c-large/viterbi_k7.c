// Viterbi decoder of the NASA code (k = 7, r = 1/2): four butterflies in an iteration, soft decisions.
#include <stdint.h>

void viterbi_k7(const uint8_t *restrict b0, const uint8_t *restrict b1, int sym0, int sym1, const int *restrict old,
                int *restrict new, uint8_t *restrict decisions, int n) {
#pragma gridloom
  for (int i = 0; i < n; i += 4) {
    int bits = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      int metric = (b0[i + k] ^ sym0) + (b1[i + k] ^ sym1);
      int m0 = old[i + k] + metric, m1 = old[i + k + 32] + (510 - metric);
      int m2 = old[i + k] + (510 - metric), m3 = old[i + k + 32] + metric;
      int d0 = m0 - m1 >= 0, d1 = m2 - m3 >= 0;
      new[2 * (i + k)] = d0 ? m1 : m0;
      new[2 * (i + k) + 1] = d1 ? m3 : m2;
      bits |= (d0 | d1 << 1) << 2 * k;
    }
    decisions[i >> 2] = bits;
  }
}
