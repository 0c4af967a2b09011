/* Bits that are set in many words, counted by clearing the lowest one until none is left. */
int bitcount(const unsigned *restrict words, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++) {
        unsigned w = words[i];
        while (w) {
            w &= w - 1;
            total++;
        }
    }
    return total;
}
