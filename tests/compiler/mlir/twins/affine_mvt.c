void mvt(int n, int *restrict x1, int *restrict x2, const int *restrict y1, const int *restrict y2, const int A[restrict][16])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x1[i] += A[i][j] * y1[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x2[i] += A[j][i] * y2[j];
}
