// A row of a sparse matrix (values and columns) times a vector, in single precision.
float spmv_row(const float *restrict value, const int *restrict column, const float *restrict x, int begin, int end) {
  float sum = 0;
  for (int k = begin; k < end; k++)
    sum += value[k] * x[column[k]];
  return sum;
}
