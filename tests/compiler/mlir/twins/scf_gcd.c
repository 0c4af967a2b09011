void gcd(const unsigned a[restrict 16], const unsigned b[restrict 16], unsigned out[restrict 16])
{
    for (int i = 0; i < 16; i++) {
        unsigned p = a[i], q = b[i];
        while (q) {
            unsigned r = p % q;
            p = q;
            q = r;
        }
        out[i] = p;
    }
}
