// Butterflies of a Viterbi decoder: two path metrics compared for each of two new states.
#include <stdint.h>

void viterbi(const int *restrict metric, const int *restrict branch, int *restrict next, uint8_t *restrict decision, int n) {
  for (int s = 0; s < n; s++) {
    int m = branch[s];
    int a = metric[2 * s] + m, b = metric[2 * s + 1] - m;
    int c = metric[2 * s] - m, d = metric[2 * s + 1] + m;
    next[s] = a > b ? a : b;
    next[s + 1024] = c > d ? c : d;
    decision[s] = (a <= b) | (c <= d) << 1;
  }
}
