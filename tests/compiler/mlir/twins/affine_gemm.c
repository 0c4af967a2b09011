void gemm(int alpha, int beta, int C[restrict static 256], const int A[restrict static 256], const int B[restrict static 256])
{
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++)
            C[i * 16 + j] *= beta;
        for (int k = 0; k < 16; k++)
            for (int j = 0; j < 16; j++)
                C[i * 16 + j] += alpha * A[i * 16 + k] * B[k * 16 + j];
    }
}
