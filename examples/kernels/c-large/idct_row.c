// Two rows of the inverse DCT of an MPEG-2 decoder in an iteration (Wang).
#define W1 2841
#define W2 2676
#define W3 2408
#define W5 1609
#define W6 1108
#define W7 565

static inline void row(const short *blk, short *out) {
  int x0 = (blk[0] << 11) + 128, x1 = blk[4] << 11, x2 = blk[6], x3 = blk[2];
  int x4 = blk[1], x5 = blk[7], x6 = blk[5], x7 = blk[3], x8;
  x8 = W7 * (x4 + x5);
  x4 = x8 + (W1 - W7) * x4;
  x5 = x8 - (W1 + W7) * x5;
  x8 = W3 * (x6 + x7);
  x6 = x8 - (W3 - W5) * x6;
  x7 = x8 - (W3 + W5) * x7;
  x8 = x0 + x1;
  x0 -= x1;
  x1 = W6 * (x3 + x2);
  x2 = x1 - (W2 + W6) * x2;
  x3 = x1 + (W2 - W6) * x3;
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
  out[0] = (x7 + x1) >> 8;
  out[1] = (x3 + x2) >> 8;
  out[2] = (x0 + x4) >> 8;
  out[3] = (x8 + x6) >> 8;
  out[4] = (x8 - x6) >> 8;
  out[5] = (x0 - x4) >> 8;
  out[6] = (x3 - x2) >> 8;
  out[7] = (x7 - x1) >> 8;
}

void idct_row(const short *restrict blk, short *restrict out, int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    row(blk + 16 * i, out + 16 * i);
    row(blk + 16 * i + 8, out + 16 * i + 8);
  }
}
