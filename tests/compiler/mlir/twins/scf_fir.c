void fir(const int *restrict x, const int h[restrict 4], int *restrict y, int y_dim0)
{
    for (int i = 0; i < y_dim0; i++) {
        int sum = 0;
        for (int k = 0; k < 4; k++)
            sum += x[i + k] * h[k];
        y[i] = sum;
    }
}
