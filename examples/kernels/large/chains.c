// Blends two images and packs the result: independent chains of fifteen operations.
void chains(const int *restrict a, const int *restrict b, int *restrict o, int w, int n) {
  for (int i = 0; i < n; i++) {
    int p = a[i], q = b[i];
    int r = q + (((p - q) * w) >> 8);
    r = r < 0 ? 0 : r;
    r = r > 255 ? 255 : r;
    o[i] = r ^ (p & 0x55) ^ (q | 0x0f);
  }
}
