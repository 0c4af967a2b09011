void sha1_schedule(unsigned w[80], int n) {
    for (int i = 16; i < 16 + n; i++) {
        unsigned x = w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16];
        w[i] = x << 1 | x >> 31;
    }
}
