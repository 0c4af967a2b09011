// ChaCha20: a double round of two blocks in an iteration, both states in variables.
#include <stdint.h>

#define ROL(x, n) ((x) << (n) | (x) >> (32 - (n)))
#define QUARTER(a, b, c, d) \
  a += b, d = ROL(d ^ a, 16), c += d, b = ROL(b ^ c, 12), a += b, d = ROL(d ^ a, 8), c += d, b = ROL(b ^ c, 7)

static inline void round(uint32_t *x) {
  QUARTER(x[0], x[4], x[8], x[12]);
  QUARTER(x[1], x[5], x[9], x[13]);
  QUARTER(x[2], x[6], x[10], x[14]);
  QUARTER(x[3], x[7], x[11], x[15]);
  QUARTER(x[0], x[5], x[10], x[15]);
  QUARTER(x[1], x[6], x[11], x[12]);
  QUARTER(x[2], x[7], x[8], x[13]);
  QUARTER(x[3], x[4], x[9], x[14]);
}

void chacha_double(uint32_t *restrict state, int n) {
  uint32_t x[16], y[16];
  for (int k = 0; k < 16; k++) {
    x[k] = state[k];
    y[k] = state[16 + k];
  }
#pragma gridloom
  for (int i = 0; i < n; i++) {
    round(x);
    round(y);
  }
  for (int k = 0; k < 16; k++) {
    state[k] = x[k];
    state[16 + k] = y[k];
  }
}
