// y = a x + y in single precision, with pointers that move.
void saxpy(float a, const float *restrict x, float *restrict y, int n) {
  while (n-- > 0) {
    *y = a * *x++ + *y;
    y++;
  }
}
