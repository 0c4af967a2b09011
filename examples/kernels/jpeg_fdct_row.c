// Rows of a forward DCT as in baseline JPEG: the part with the rotation, in Q13.
#include <stdint.h>

void jpeg_fdct_row(int16_t (*restrict block)[8], int rows) {
  for (int r = 0; r < rows; r++) {
    int16_t *row = block[r];
    int t0 = row[0] + row[7], t1 = row[1] + row[6], t2 = row[2] + row[5], t3 = row[3] + row[4];
    int t10 = t0 + t3, t13 = t0 - t3, t11 = t1 + t2, t12 = t1 - t2;
    row[0] = (t10 + t11) << 2;
    row[4] = (t10 - t11) << 2;
    int z = (t12 + t13) * 4433;
    row[2] = (z + t13 * 6270 + 1024) >> 11;
    row[6] = (z - t12 * 15137 + 1024) >> 11;
  }
}
