/* PolyBench's syrk: the lower triangle of C = beta * C + alpha * A * A^T. */
void syrk(int n, int m, int alpha, int beta, int C[restrict][16], const int A[restrict][16])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += alpha * A[i][k] * A[j][k];
    }
}
