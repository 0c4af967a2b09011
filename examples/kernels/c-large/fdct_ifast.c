// Two rows of the fast integer DCT of the JPEG library (Arai, Agui and Nakajima) in an iteration.
#define MUL(x, c) (((x) * (c)) >> 8)

static inline void row(const int *d, int *o) {
  int tmp0 = d[0] + d[7], tmp7 = d[0] - d[7], tmp1 = d[1] + d[6], tmp6 = d[1] - d[6];
  int tmp2 = d[2] + d[5], tmp5 = d[2] - d[5], tmp3 = d[3] + d[4], tmp4 = d[3] - d[4];
  int tmp10 = tmp0 + tmp3, tmp13 = tmp0 - tmp3, tmp11 = tmp1 + tmp2, tmp12 = tmp1 - tmp2;
  o[0] = tmp10 + tmp11;
  o[4] = tmp10 - tmp11;
  int z1 = MUL(tmp12 + tmp13, 181);
  o[2] = tmp13 + z1;
  o[6] = tmp13 - z1;
  tmp10 = tmp4 + tmp5;
  tmp11 = tmp5 + tmp6;
  tmp12 = tmp6 + tmp7;
  int z5 = MUL(tmp10 - tmp12, 98), z2 = MUL(tmp10, 139) + z5, z4 = MUL(tmp12, 334) + z5, z3 = MUL(tmp11, 181);
  int z11 = tmp7 + z3, z13 = tmp7 - z3;
  o[5] = z13 + z2;
  o[3] = z13 - z2;
  o[1] = z11 + z4;
  o[7] = z11 - z4;
}

void fdct_ifast(const int *restrict data, int *restrict out, int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    row(data + 16 * i, out + 16 * i);
    row(data + 16 * i + 8, out + 16 * i + 8);
  }
}
