// IMA ADPCM encoder: 16-bit samples into 4-bit codes.
#include <stdint.h>

static const int16_t step_size[89] = {
    7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107, 118,
    130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963, 1060,
    1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894, 6484,
    7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767};
static const int8_t index_change[16] = {-1, -1, -1, -1, 2, 4, 6, 8, -1, -1, -1, -1, 2, 4, 6, 8};

void adpcm_encode(const int16_t *restrict sample, uint8_t *restrict code, int n) {
  int predicted = 0, index = 0;
  for (int i = 0; i < n; i++) {
    int step = step_size[index];
    int difference = sample[i] - predicted;
    int sign = difference < 0 ? 8 : 0;
    if (sign)
      difference = -difference;
    int delta = 0, change = step >> 3;
    if (difference >= step) {
      delta = 4;
      difference -= step;
      change += step;
    }
    if (difference >= step >> 1) {
      delta |= 2;
      difference -= step >> 1;
      change += step >> 1;
    }
    if (difference >= step >> 2) {
      delta |= 1;
      change += step >> 2;
    }
    predicted = sign ? predicted - change : predicted + change;
    predicted = predicted > 32767 ? 32767 : predicted < -32768 ? -32768 : predicted;
    index += index_change[delta];
    index = index < 0 ? 0 : index > 88 ? 88 : index;
    code[i] = delta | sign;
  }
}
