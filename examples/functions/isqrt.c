/* Integer square roots, bit by bit. */
void isqrt(const unsigned *restrict x, unsigned *restrict roots, int n)
{
    for (int i = 0; i < n; i++) {
        unsigned rest = x[i], root = 0;
        for (unsigned bit = 1u << 30; bit; bit >>= 2) {
            if (rest >= root + bit) {
                rest -= root + bit;
                root = (root >> 1) + bit;
            } else {
                root >>= 1;
            }
        }
        roots[i] = root;
    }
}
