/* An FFT in fixed point whose butterflies never meet, and a state machine without goto. */
void fix_fft(short fr[], short fi[], const short *wave, int m) {
  int n = 1 << m, l = 1, k = m - 1;
  while (l < n) {
    int istep = l << 1, mm, i;
    for (mm = 0; mm < l; ++mm) {
      int j = mm << k;
      short wr = wave[j + n / 4], wi = -wave[j];
      for (i = mm; i < n; i += istep) {
        int jj = i + l;
        short tr = (wr * fr[jj] - wi * fi[jj]) >> 15, ti = (wr * fi[jj] + wi * fr[jj]) >> 15;
        short qr = fr[i] >> 1, qi = fi[i] >> 1;
        fr[jj] = qr - tr; fi[jj] = qi - ti; fr[i] = qr + tr; fi[i] = qi + ti;
      }
    }
    --k;
    l = istep;
  }
}
int count_words(const char *text, int n) {
  enum { OUT, IN } state = OUT;
  int i, words = 0;
  for (i = 0; i < n; i++) {
    switch (state) {
      case OUT: if (text[i] > ' ') { state = IN; words++; } break;
      case IN: if (text[i] <= ' ') state = OUT; break;
    }
  }
  return words;
}
