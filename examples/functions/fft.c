/* A Fourier transform in place in fixed point: bit reversal, then all three loops of the stages. */
void fft(int *restrict re, int *restrict im, const int *restrict cosine, const int *restrict sine, int n)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            int t = re[i];
            re[i] = re[j];
            re[j] = t;
            t = im[i];
            im[i] = im[j];
            im[j] = t;
        }
    }
    for (int size = 2; size <= n; size <<= 1) {
        int half = size >> 1, step = n / size;
        for (int start = 0; start < n; start += size)
            for (int k = 0; k < half; k++) {
                int c = cosine[k * step], s = sine[k * step];
                int a = start + k, b = start + k + half;
                int x = (re[b] * c + im[b] * s) >> 8;
                int y = (im[b] * c - re[b] * s) >> 8;
                re[b] = re[a] - x;
                im[b] = im[a] - y;
                re[a] = re[a] + x;
                im[a] = im[a] + y;
            }
    }
}
