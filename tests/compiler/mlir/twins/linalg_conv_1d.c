void conv_1d(const int x[restrict 36], const int h[restrict 5], int y[restrict 32])
{
    for (int i = 0; i < 32; i++)
        y[i] = 0;
    for (int i = 0; i < 32; i++)
        for (int k = 0; k < 5; k++)
            y[i] += x[i + k] * h[k];
}
