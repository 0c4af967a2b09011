void saturate(const short a[restrict 32], const short b[restrict 32], short out[restrict 32])
{
    for (int i = 0; i < 32; i++) {
        int sum = a[i] + b[i];
        out[i] = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
    }
}
