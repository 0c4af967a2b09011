void gesummv(float alpha, float beta, const float A[restrict 12][12], const float B[restrict 12][12], const float x[restrict 12], float y[restrict 12])
{
    for (int i = 0; i < 12; i++) {
        float t = 0, u = 0;
        for (int j = 0; j < 12; j++) {
            t += A[i][j] * x[j];
            u += B[i][j] * x[j];
        }
        y[i] = alpha * t + beta * u;
    }
}
