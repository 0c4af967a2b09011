// Filters as functions of C++ that need nothing of it.
void fir_filter(int *input, int *output, const int *coefficients, int n) {
  for (int i = 0; i < n; ++i) {
    int acc = 0;
    for (int k = 0; k < 16; ++k) acc += input[i + k] * coefficients[k];
    output[i] = acc >> 8;
  }
}
static inline int clip(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
void sobel_row(const unsigned char *above, const unsigned char *here, const unsigned char *below, unsigned char *out, int w) {
  for (int x = 1; x < w - 1; ++x) {
    int gx = above[x + 1] - above[x - 1] + 2 * (here[x + 1] - here[x - 1]) + below[x + 1] - below[x - 1];
    int gy = below[x - 1] - above[x - 1] + 2 * (below[x] - above[x]) + below[x + 1] - above[x + 1];
    out[x] = (unsigned char)clip((gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy));
  }
}
