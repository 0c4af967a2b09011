// The first twenty rounds of SHA-1 over an expanded message block.
#include <stdint.h>

static inline uint32_t turn(uint32_t x, int by) {
  return x << by | x >> (32 - by);
}

void sha1_round(const uint32_t *restrict w, uint32_t *restrict state, int rounds) {
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int t = 0; t < rounds; t++) {
    uint32_t next = turn(a, 5) + ((b & c) | (~b & d)) + e + w[t] + 0x5a827999u;
    e = d;
    d = c;
    c = turn(b, 30);
    b = a;
    a = next;
  }
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
  state[4] = e;
}
