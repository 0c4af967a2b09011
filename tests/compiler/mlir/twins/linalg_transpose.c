void symmetric(const int A[restrict 10][10], int out[restrict 10][10])
{
    int t[10][10];
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++)
            t[i][j] = A[j][i];
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++)
            out[i][j] = A[i][j] + t[i][j];
}
