/* The discrete cosine transform of a block in fixed point: rows, then columns. */
void dct_8x8(const short *restrict block, const short *restrict table, int *restrict tmp, short *restrict out)
{
    for (int y = 0; y < 8; y++)
        for (int u = 0; u < 8; u++) {
            int sum = 0;
            for (int x = 0; x < 8; x++)
                sum += block[8 * y + x] * table[8 * u + x];
            tmp[8 * y + u] = sum >> 8;
        }
    for (int u = 0; u < 8; u++)
        for (int v = 0; v < 8; v++) {
            int sum = 0;
            for (int y = 0; y < 8; y++)
                sum += tmp[8 * y + u] * table[8 * v + y];
            out[8 * v + u] = sum >> 8;
        }
}
