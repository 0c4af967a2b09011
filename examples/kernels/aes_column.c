// MixColumns of AES, one column an iteration.
#include <stdint.h>

static inline uint8_t twice(uint8_t x) {
  return x << 1 ^ (x & 0x80 ? 0x1b : 0);
}

void aes_column(const uint8_t (*restrict in)[4], uint8_t (*restrict out)[4], int n) {
  for (int i = 0; i < n; i++) {
    uint8_t a = in[i][0], b = in[i][1], c = in[i][2], d = in[i][3];
    uint8_t all = a ^ b ^ c ^ d;
    out[i][0] = a ^ all ^ twice(a ^ b);
    out[i][1] = b ^ all ^ twice(b ^ c);
    out[i][2] = c ^ all ^ twice(c ^ d);
    out[i][3] = d ^ all ^ twice(d ^ a);
  }
}
