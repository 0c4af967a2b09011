// A row of the Needleman-Wunsch alignment matrix: best of diagonal, above and left.
#include <stdint.h>

void needleman_wunsch(const char *restrict sequence, const int *restrict above, int *restrict row, char letter, int left,
                      int corner, int n) {
  int diagonal = corner;
  for (int j = 0; j < n; j++) {
    int best = diagonal + (sequence[j] == letter ? 2 : -1);
    int gap = (above[j] > left ? above[j] : left) - 2;
    best = best > gap ? best : gap;
    diagonal = above[j];
    row[j] = best;
    left = best;
  }
}
