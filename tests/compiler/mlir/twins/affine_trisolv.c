void trisolv(const int L[restrict 16][16], int x[restrict 16], const int b[restrict 16])
{
    for (int i = 0; i < 16; i++) {
        int r = b[i];
        for (int j = 0; j < i; j++)
            r -= L[i][j] * x[j];
        x[i] = r;
    }
}
