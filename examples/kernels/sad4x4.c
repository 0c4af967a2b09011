// Sum of absolute differences of 4 x 4 blocks, one row of four pixels an iteration.
#include <stdint.h>
#include <stdlib.h>

int sad4x4(const uint8_t (*restrict block)[4], const uint8_t (*restrict candidate)[4], int rows) {
  int sum = 0;
  for (int r = 0; r < rows; r++) {
    sum += abs(block[r][0] - candidate[r][0]) + abs(block[r][1] - candidate[r][1]);
    sum += abs(block[r][2] - candidate[r][2]) + abs(block[r][3] - candidate[r][3]);
  }
  return sum;
}
