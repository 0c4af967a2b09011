/* PolyBench's trisolv in single precision: forward substitution; the inner bound is the outer counter. */
void trisolv(int n, const float L[restrict][20], float *restrict x, const float *restrict b)
{
    for (int i = 0; i < n; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
}
