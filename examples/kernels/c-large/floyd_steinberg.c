// Floyd-Steinberg dithering of a row of a CMYK image to four levels per ink.
#include <stdint.h>

static inline int one(int value, int *below, int x, int *ahead, int *last) {
  int v = value + ((*ahead + below[x + 4]) >> 4);
  v = v < 0 ? 0 : v > 255 ? 255 : v;
  int level = (v + 42) / 85 * 85, e = v - level;
  below[x - 4] += 3 * e;
  below[x] = *last + 5 * e;
  *last = e;
  *ahead = 7 * e;
  return level;
}

void floyd_steinberg(const uint8_t *restrict in, uint8_t *restrict out, int *restrict below,
                     int *restrict ink, int n) {
  int c = 0, m = 0, y = 0, k = 0, lc = 0, lm = 0, ly = 0, lk = 0;
#pragma gridloom
  for (int i = 1; i < n; i++) {
    int x = 4 * i;
    int cyan = one(in[x], below, x, &c, &lc), magenta = one(in[x + 1], below, x + 1, &m, &lm);
    int yellow = one(in[x + 2], below, x + 2, &y, &ly), black = one(in[x + 3], below, x + 3, &k, &lk);
    out[x] = cyan;
    out[x + 1] = magenta;
    out[x + 2] = yellow;
    out[x + 3] = black;
    ink[i] = cyan + magenta + yellow + black;
  }
}
