// Blowfish: all sixteen rounds of a block, ECB.
#include <stdint.h>

void blowfish_16(const uint32_t *restrict in, uint32_t *restrict out, const uint32_t *restrict p,
                 const uint32_t (*restrict s)[256], int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    uint32_t l = in[2 * i], r = in[2 * i + 1];
#pragma unroll
    for (int k = 0; k < 16; k++) {
      l ^= p[k];
      r ^= ((s[0][l >> 24] + s[1][l >> 16 & 0xff]) ^ s[2][l >> 8 & 0xff]) + s[3][l & 0xff];
      uint32_t t = l;
      l = r;
      r = t;
    }
    out[2 * i] = r ^ p[17];
    out[2 * i + 1] = l ^ p[16];
  }
}
