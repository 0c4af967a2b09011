// Steps of the first round of MD5; constants and rotations come from tables of the caller.
#include <stdint.h>

void md5_step(const uint32_t *restrict message, const uint32_t *restrict sine, const uint8_t *restrict turns,
              uint32_t *restrict state, int steps) {
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  for (int i = 0; i < steps; i++) {
    uint32_t f = ((b & c) | (~b & d)) + a + sine[i] + message[i];
    int s = turns[i];
    a = d;
    d = c;
    c = b;
    b += f << s | f >> (32 - s);
  }
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
}
