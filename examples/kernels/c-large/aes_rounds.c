// Two rounds of AES by T-tables.
#include <stdint.h>

#define ROUND(d, a, b, c, e, k) \
  uint32_t d = t0[a >> 24] ^ t1[b >> 16 & 0xff] ^ t2[c >> 8 & 0xff] ^ t3[e & 0xff] ^ k

void aes_rounds(const uint32_t (*restrict in)[4], uint32_t (*restrict out)[4], const uint32_t *restrict t0,
                const uint32_t *restrict t1, const uint32_t *restrict t2, const uint32_t *restrict t3,
                const uint32_t *restrict rk, int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    uint32_t s0 = in[i][0] ^ rk[0], s1 = in[i][1] ^ rk[1], s2 = in[i][2] ^ rk[2], s3 = in[i][3] ^ rk[3];
    ROUND(u0, s0, s1, s2, s3, rk[4]);
    ROUND(u1, s1, s2, s3, s0, rk[5]);
    ROUND(u2, s2, s3, s0, s1, rk[6]);
    ROUND(u3, s3, s0, s1, s2, rk[7]);
    ROUND(v0, u0, u1, u2, u3, rk[8]);
    ROUND(v1, u1, u2, u3, u0, rk[9]);
    ROUND(v2, u2, u3, u0, u1, rk[10]);
    ROUND(v3, u3, u0, u1, u2, rk[11]);
    out[i][0] = v0;
    out[i][1] = v1;
    out[i][2] = v2;
    out[i][3] = v3;
  }
}
