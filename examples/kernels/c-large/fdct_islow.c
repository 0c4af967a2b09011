// A column of the accurate integer DCT of the JPEG library, quantised by reciprocals of magnitudes.
#define W 1024
#define DESCALE(x, n) (((x) + (1 << ((n) - 1))) >> (n))

void fdct_islow(const int *restrict data, const int *restrict recip, int *restrict out, int n) {
#pragma gridloom
  for (int i = 0; i < n; i++) {
    int d[8], q[8];
#pragma unroll
    for (int k = 0; k < 8; k++)
      d[k] = data[W * k + i];
    int tmp0 = d[0] + d[7], tmp7 = d[0] - d[7], tmp1 = d[1] + d[6], tmp6 = d[1] - d[6];
    int tmp2 = d[2] + d[5], tmp5 = d[2] - d[5], tmp3 = d[3] + d[4], tmp4 = d[3] - d[4];
    int tmp10 = tmp0 + tmp3, tmp13 = tmp0 - tmp3, tmp11 = tmp1 + tmp2, tmp12 = tmp1 - tmp2;
    q[0] = DESCALE(tmp10 + tmp11, 2);
    q[4] = DESCALE(tmp10 - tmp11, 2);
    int z1 = (tmp12 + tmp13) * 4433;
    q[2] = DESCALE(z1 + tmp13 * 6270, 15);
    q[6] = DESCALE(z1 + tmp12 * -15137, 15);
    z1 = tmp4 + tmp7;
    int z2 = tmp5 + tmp6, z3 = tmp4 + tmp6, z4 = tmp5 + tmp7, z5 = (z3 + z4) * 9633;
    tmp4 *= 2446;
    tmp5 *= 16819;
    tmp6 *= 25172;
    tmp7 *= 12299;
    z1 *= -7373;
    z2 *= -20995;
    z3 = z3 * -16069 + z5;
    z4 = z4 * -3196 + z5;
    q[7] = DESCALE(tmp4 + z1 + z3, 15);
    q[5] = DESCALE(tmp5 + z2 + z4, 15);
    q[3] = DESCALE(tmp6 + z2 + z3, 15);
    q[1] = DESCALE(tmp7 + z1 + z4, 15);
#pragma unroll
    for (int k = 0; k < 8; k++)
      out[W * k + i] = q[k] < 0 ? -((-q[k] * recip[W * k + i] + 16384) >> 15) : (q[k] * recip[W * k + i] + 16384) >> 15;
  }
}
