/* Gaussian elimination modulo a prime; returns early where a pivot is zero. */
int lu(int n, int A[restrict][16], int p)
{
    for (int k = 0; k < n; k++) {
        int pivot = A[k][k];
        if (pivot == 0)
            return k;
        for (int i = k + 1; i < n; i++) {
            int factor = A[i][k];
            for (int j = k; j < n; j++) {
                int v = (A[i][j] * pivot - A[k][j] * factor) % p;
                A[i][j] = v < 0 ? v + p : v;
            }
        }
    }
    return n;
}
