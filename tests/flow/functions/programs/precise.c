/* A kernel in double precision. */
void scale(double *x, double *y, int n) { int i; for (i = 0; i < n; i++) y[i] = x[i] * 0.5; }
