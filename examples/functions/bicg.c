/* PolyBench's bicg: the two products of the BiCG method in one pass over the matrix. */
void bicg(int m, int n, const int A[restrict][20], int *restrict s, int *restrict q, const int *restrict p, const int *restrict r)
{
    for (int i = 0; i < m; i++)
        s[i] = 0;
    for (int i = 0; i < n; i++) {
        q[i] = 0;
        for (int j = 0; j < m; j++) {
            s[j] += r[i] * A[i][j];
            q[i] += A[i][j] * p[j];
        }
    }
}
