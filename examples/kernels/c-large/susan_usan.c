// SUSAN edge response of a row: 37 pixels of a circular mask compared with the nucleus by a table.
#include <stdint.h>
#define W 512

void susan_usan(const uint8_t (*restrict in)[W], const uint8_t *restrict bp, int *restrict r, int max, int n) {
#pragma gridloom
  for (int j = 3; j < n; j++) {
    const uint8_t *cp = bp + 256 + in[3][j];
    int usan = 100;
#pragma unroll
    for (int x = -1; x <= 1; x++)
      usan += cp[-in[0][j + x]] + cp[-in[6][j + x]];
#pragma unroll
    for (int x = -2; x <= 2; x++)
      usan += cp[-in[1][j + x]] + cp[-in[5][j + x]];
#pragma unroll
    for (int x = -3; x <= 3; x++)
      usan += cp[-in[2][j + x]] + cp[-in[3][j + x]] + cp[-in[4][j + x]];
    r[j] = usan <= max ? max - usan : 0;
  }
}
