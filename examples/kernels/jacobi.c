// One sweep of a five-point Jacobi stencil along a row, in single precision.
#define W 64

void jacobi(const float *restrict in, float *restrict out, int n) {
  for (int i = 0; i < n; i++)
    out[i] = 0.2f * (in[i + W] + in[i + W - 1] + in[i + W + 1] + in[i] + in[i + 2 * W]);
}
