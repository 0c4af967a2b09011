// Butterflies of a radix-4 FFT in Q15, decimation in time.
#define RE(a, b, c, d) (((a) * (c) - (b) * (d) + 16384) >> 15)
#define IM(a, b, c, d) (((a) * (d) + (b) * (c) + 16384) >> 15)

void fft_radix4(const short *restrict in, const short *restrict tw, short *restrict out, int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    const short *p = in + 2 * i, *t = tw + 6 * i;
    int ar = p[0], ai = p[1], cr = p[2048], ci = p[2049], er = p[4096], ei = p[4097], gr = p[6144], gi = p[6145];
    int br = RE(cr, ci, t[0], t[1]), bi = IM(cr, ci, t[0], t[1]);
    int dr = RE(er, ei, t[2], t[3]), di = IM(er, ei, t[2], t[3]);
    int fr = RE(gr, gi, t[4], t[5]), fi = IM(gr, gi, t[4], t[5]);
    int sr = ar + dr, si = ai + di, ur = ar - dr, ui = ai - di;
    int vr = br + fr, vi = bi + fi, wr = br - fr, wi = bi - fi;
    short *o = out + 2 * i;
    o[0] = (sr + vr + 2) >> 2;
    o[1] = (si + vi + 2) >> 2;
    o[2048] = (ur + wi + 2) >> 2;
    o[2049] = (ui - wr + 2) >> 2;
    o[4096] = (sr - vr + 2) >> 2;
    o[4097] = (si - vi + 2) >> 2;
    o[6144] = (ur - wi + 2) >> 2;
    o[6145] = (ui + wr + 2) >> 2;
  }
}
