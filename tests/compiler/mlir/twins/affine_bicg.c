void bicg(const int A[restrict 12][16], int s[restrict 16], int q[restrict 12], const int p[restrict 16], const int r[restrict 12])
{
    for (int j = 0; j < 16; j++)
        s[j] = 0;
    for (int i = 0; i < 12; i++) {
        int sum = 0;
        for (int j = 0; j < 16; j++) {
            s[j] += r[i] * A[i][j];
            sum += A[i][j] * p[j];
        }
        q[i] = sum;
    }
}
