void atax(const int A[restrict 12][16], const int x[restrict 16], int y[restrict 16], int tmp[restrict 12])
{
    for (int i = 0; i < 16; i++)
        y[i] = 0;
    for (int i = 0; i < 12; i++) {
        int t = 0;
        for (int j = 0; j < 16; j++)
            t += A[i][j] * x[j];
        tmp[i] = t;
        for (int j = 0; j < 16; j++)
            y[j] += A[i][j] * t;
    }
}
