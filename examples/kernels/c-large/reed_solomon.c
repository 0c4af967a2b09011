// Reed-Solomon encoder with twenty parity symbols in a shift register; products by tables of logarithms.
#include <stdint.h>

void reed_solomon(const uint8_t *restrict data, const uint8_t *restrict log, const uint8_t *restrict power,
                  const uint8_t *restrict gen, uint8_t *restrict parity, int n) {
  uint8_t bb[20];
#pragma unroll
  for (int k = 0; k < 20; k++)
    bb[k] = parity[k];
#pragma gridloom
  for (int i = 0; i < n; i++) {
    int feedback = log[data[i] ^ bb[19]];
    int on = feedback != 255;
#pragma unroll
    for (int k = 19; k > 0; k--)
      bb[k] = bb[k - 1] ^ (on ? power[gen[k] + feedback] : 0);
    bb[0] = on ? power[gen[0] + feedback] : 0;
  }
  for (int k = 0; k < 20; k++)
    parity[k] = bb[k];
}
