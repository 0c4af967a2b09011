/* A filter in Q15 with rounding and saturation. */
void fir_q15(const short *restrict x, const short *restrict h, short *restrict y, int n, int taps)
{
    for (int i = 0; i < n; i++) {
        int sum = 1 << 14;
        for (int k = 0; k < taps; k++)
            sum += x[i + k] * h[k];
        sum >>= 15;
        y[i] = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
    }
}
