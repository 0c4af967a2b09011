// Where a pattern of four characters occurs in a text: the last position, and how often.
#include <stdint.h>

int string_search(const char *restrict text, const char *restrict pattern, int *restrict count, int n) {
  int last = -1, found = 0;
  char a = pattern[0], b = pattern[1], c = pattern[2], d = pattern[3];
  for (int i = 0; i < n; i++) {
    if (text[i] == a && text[i + 1] == b && text[i + 2] == c && text[i + 3] == d) {
      last = i;
      found++;
    }
  }
  count[0] = found;
  return last;
}
