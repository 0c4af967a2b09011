/* GSM-like: the largest sample scales the signal, then nine sums of products with 64 bits. */
void autocorrelation(short *restrict s, int n, long long sums[restrict 9])
{
    int largest = 0;
    for (int i = 0; i < n; i++) {
        int v = s[i] < 0 ? -s[i] : s[i];
        if (v > largest)
            largest = v;
    }
    int shift = 0;
    while ((largest >> shift) > 4095)
        shift++;
    for (int i = 0; i < n; i++)
        s[i] >>= shift;
    for (int lag = 0; lag < 9; lag++) {
        long long sum = 0;
        for (int i = lag; i < n; i++)
            sum += s[i] * s[i - lag];
        sums[lag] = sum << 1;
    }
}
