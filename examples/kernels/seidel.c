// Gauss-Seidel along a line in place: each cell sees the one just computed.
void seidel(int *line, int n) {
  for (int i = 1; i <= n; i++)
    line[i] = (line[i - 1] + 2 * line[i] + line[i + 1]) >> 2;
}
