void matmul(const int A[restrict 8][12], const int B[restrict 12][10], int C[restrict 8][10])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 10; j++)
            for (int k = 0; k < 12; k++)
                C[i][j] += A[i][k] * B[k][j];
}
