// How often each byte occurs: an increment at an index that the data give.
#include <stdint.h>

void histogram(const uint8_t *restrict data, int *restrict count, int n) {
  for (int i = 0; i < n; i++)
    count[data[i]]++;
}
