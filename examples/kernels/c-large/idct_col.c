// A column of the inverse DCT of an MPEG-2 decoder (Wang), added to the prediction and clipped.
#include <stdint.h>
#define W 1024

#define W1 2841
#define W2 2676
#define W3 2408
#define W5 1609
#define W6 1108
#define W7 565

static inline uint8_t clip(int x) {
  return x < 0 ? 0 : x > 255 ? 255 : x;
}

void idct_col(const short *restrict blk, const uint8_t *restrict past, uint8_t *restrict out, int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    int x0 = (blk[i] << 8) + 8192, x1 = blk[4 * W + i] << 8, x2 = blk[6 * W + i], x3 = blk[2 * W + i];
    int x4 = blk[W + i], x5 = blk[7 * W + i], x6 = blk[5 * W + i], x7 = blk[3 * W + i], x8;
    x8 = W7 * (x4 + x5) + 4;
    x4 = (x8 + (W1 - W7) * x4) >> 3;
    x5 = (x8 - (W1 + W7) * x5) >> 3;
    x8 = W3 * (x6 + x7) + 4;
    x6 = (x8 - (W3 - W5) * x6) >> 3;
    x7 = (x8 - (W3 + W5) * x7) >> 3;
    x8 = x0 + x1;
    x0 -= x1;
    x1 = W6 * (x3 + x2) + 4;
    x2 = (x1 - (W2 + W6) * x2) >> 3;
    x3 = (x1 + (W2 - W6) * x3) >> 3;
    x1 = x4 + x6;
    x4 -= x6;
    x6 = x5 + x7;
    x5 -= x7;
    x7 = x8 + x3;
    x8 -= x3;
    x3 = x0 + x2;
    x0 -= x2;
    x2 = (181 * (x4 + x5) + 128) >> 8;
    x4 = (181 * (x4 - x5) + 128) >> 8;
    out[i] = clip(past[i] + ((x7 + x1) >> 14));
    out[W + i] = clip(past[W + i] + ((x3 + x2) >> 14));
    out[2 * W + i] = clip(past[2 * W + i] + ((x0 + x4) >> 14));
    out[3 * W + i] = clip(past[3 * W + i] + ((x8 + x6) >> 14));
    out[4 * W + i] = clip(past[4 * W + i] + ((x8 - x6) >> 14));
    out[5 * W + i] = clip(past[5 * W + i] + ((x0 - x4) >> 14));
    out[6 * W + i] = clip(past[6 * W + i] + ((x3 - x2) >> 14));
    out[7 * W + i] = clip(past[7 * W + i] + ((x7 - x1) >> 14));
  }
}
