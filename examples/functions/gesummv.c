/* PolyBench's gesummv in single precision: y = alpha * A x + beta * B x. */
void gesummv(int n, float alpha, float beta, const float A[restrict][20], const float B[restrict][20],
             float *restrict tmp, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++) {
        tmp[i] = 0.0f;
        y[i] = 0.0f;
        for (int j = 0; j < n; j++) {
            tmp[i] = A[i][j] * x[j] + tmp[i];
            y[i] = B[i][j] * x[j] + y[i];
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
}
