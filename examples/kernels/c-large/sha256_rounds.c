// SHA-256: four rounds in an iteration, with the state in variables.
#include <stdint.h>

#define ROR(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define ROUND(a, b, c, d, e, f, g, h, i)                                                                    \
  {                                                                                                         \
    uint32_t t1 = h + (ROR(e, 6) ^ ROR(e, 11) ^ ROR(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];           \
    uint32_t t2 = (ROR(a, 2) ^ ROR(a, 13) ^ ROR(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));                    \
    d += t1;                                                                                                \
    h = t1 + t2;                                                                                            \
  }

void sha256_rounds(const uint32_t *restrict w, const uint32_t *restrict k, uint32_t *restrict state, int n) {
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
#pragma gridloom
  for (int i = 0; i < n; i += 4) {
    ROUND(a, b, c, d, e, f, g, h, i);
    ROUND(h, a, b, c, d, e, f, g, i + 1);
    ROUND(g, h, a, b, c, d, e, f, i + 2);
    ROUND(f, g, h, a, b, c, d, e, i + 3);
    uint32_t ta = a, tb = b, tc = c, td = d;
    a = e, b = f, c = g, d = h;
    e = ta, f = tb, g = tc, h = td;
  }
  state[0] = a, state[1] = b, state[2] = c, state[3] = d;
  state[4] = e, state[5] = f, state[6] = g, state[7] = h;
}
