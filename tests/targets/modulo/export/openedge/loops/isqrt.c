unsigned isqrt(unsigned x, int n) {
    unsigned root = 0, bit = 1u << 28;
    for (int i = 0; i < n; i++) {
        if (x >= root + bit) { x -= root + bit; root = (root >> 1) + bit; } else root >>= 1;
        bit >>= 2;
    }
    return root;
}
