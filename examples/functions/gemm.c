/* PolyBench's gemm: C = beta * C + alpha * A * B. */
void gemm(int n, int alpha, int beta, int C[restrict][16], const int A[restrict][16], const int B[restrict][16])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            C[i][j] *= beta;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
}
