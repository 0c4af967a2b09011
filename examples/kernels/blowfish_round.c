// Rounds of Blowfish on one block; the boxes are the caller's.
#include <stdint.h>

void blowfish_round(const uint32_t *restrict key, const uint32_t (*restrict box)[256], uint32_t *restrict block, int rounds) {
  uint32_t left = block[0], right = block[1];
  for (int i = 0; i < rounds; i++) {
    left ^= key[i];
    uint32_t mixed = box[0][left >> 24] + box[1][left >> 16 & 255];
    mixed = (mixed ^ box[2][left >> 8 & 255]) + box[3][left & 255];
    uint32_t swapped = right ^ mixed;
    right = left;
    left = swapped;
  }
  block[0] = left;
  block[1] = right;
}
