void row_sums(const int A[restrict 8][16], int sums[restrict 8])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 16; j++)
            sums[i] += A[i][j];
}
