// Full motion search: the sum of absolute differences of a 4 x 8 block at each candidate, and the best one.
#include <stdint.h>
#define W 512

static inline int magnitude(int x) {
  return x < 0 ? -x : x;
}

void motion_search(const uint8_t (*restrict now)[W], const uint8_t (*restrict past)[W], int *restrict best, int n) {
  int least = 1 << 30, where = 0;
#pragma gridloom
  for (int x = 0; x < n; x++) {
    int sad = 0;
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
      for (int c = 0; c < 4; c++)
        sad += magnitude(now[r][c] - past[r][x + c]);
    if (sad < least) {
      least = sad;
      where = x;
    }
  }
  best[0] = least;
  best[1] = where;
}
