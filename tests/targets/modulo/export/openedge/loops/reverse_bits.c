unsigned reverse_bits(unsigned x, int n) { unsigned r = 0; for (int i = 0; i < n; i++) { r = r << 1 | (x & 1); x >>= 1; } return r; }
