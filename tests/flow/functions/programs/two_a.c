#include "codec.h"
extern int weights[];
int mix(int *, int);
int samples[200];
int main() {
  struct state s;
  int i, total = 0;
  for (i = 0; i < 200; i++) samples[i] = i * i % 61;
  s.valprev = 3;
  total = mix(samples, 200) + s.valprev;
  printf("%d\n", total);
  return 0;
}
