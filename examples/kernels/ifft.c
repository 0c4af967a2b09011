// One stage of an inverse FFT in place: butterflies 128 samples apart.
#define HALF 128

void ifft(int *restrict re, int *restrict im, const int *restrict cosine, const int *restrict sine, int n) {
  for (int i = 0; i < n; i++) {
    int tr = (cosine[i] * re[i + HALF] - sine[i] * im[i + HALF]) >> 12;
    int ti = (cosine[i] * im[i + HALF] + sine[i] * re[i + HALF]) >> 12;
    int ar = re[i], ai = im[i];
    re[i] = (ar + tr) >> 1;
    im[i] = (ai + ti) >> 1;
    re[i + HALF] = (ar - tr) >> 1;
    im[i + HALF] = (ai - ti) >> 1;
  }
}
