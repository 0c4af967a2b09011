void parallel_add(const int a[restrict 8][12], const int b[restrict 8][12], int out[restrict 8][12])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 12; j++)
            out[i][j] = a[i][j] + b[i][j];
}
