/* Blowfish-like rounds: two halves and four tables of 32 words. */
void feistel(unsigned *restrict data, int blocks, const unsigned *restrict keys, const unsigned tables[restrict 128])
{
    for (int b = 0; b < blocks; b++) {
        unsigned left = data[2 * b], right = data[2 * b + 1];
        for (int r = 0; r < 16; r++) {
            left ^= keys[r];
            unsigned f = tables[left >> 27] + tables[32 + (left >> 19 & 31)];
            f = (f ^ tables[64 + (left >> 11 & 31)]) + tables[96 + (left >> 3 & 31)];
            right ^= f;
            unsigned t = left;
            left = right;
            right = t;
        }
        data[2 * b] = right ^ keys[16];
        data[2 * b + 1] = left ^ keys[17];
    }
}
