/* PolyBench's atax: y = A^T (A x). */
void atax(int m, int n, const int A[restrict][20], const int *restrict x, int *restrict y, int *restrict tmp)
{
    for (int i = 0; i < n; i++)
        y[i] = 0;
    for (int i = 0; i < m; i++) {
        tmp[i] = 0;
        for (int j = 0; j < n; j++)
            tmp[i] += A[i][j] * x[j];
        for (int j = 0; j < n; j++)
            y[j] += A[i][j] * tmp[i];
    }
}
