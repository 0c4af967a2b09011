"""One C file for each limit of the front end: what the document lists and the tests run."""

from __future__ import annotations

LIMITS = {
    "`break`, `return`, a second condition": """
int f(const int *x, int n) {
  for (int i = 0; i < n; i++)
    if (x[i] == 7)
      return i;
  return -1;
}
""",
    "a loop that ends by what it computes": """
int f(unsigned x) {
  int c = 0;
  while (x > 1) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    c++;
  }
  return c;
}
""",
    "`continue` in a while loop": """
float f(signed char *restrict c, float x, int i, int p) {
  float s = 1;
  while (i-- > 0) {
    c[i] += p;
    if (p > 3)
      continue;
    s = s * 0.5f + x;
  }
  return s;
}
""",
    "a loop without an end": """
void f(int *x) {
  for (int i = 0;; i++)
    x[i & 7] += i;
}
""",
    "an inner loop": """
void f(int (*a)[8], int n) {
#pragma gridloom
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      a[i][j] = i;
}
""",
    "several innermost loops": """
void f(int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++)
    x[i] += x[i] >> 3;
  for (int i = 0; i < n; i++)
    y[i] ^= x[i];
}
""",
    "`double`": """
void f(double *x, int n) {
  for (int i = 0; i < n; i++)
    x[i] *= 2;
}
""",
    "64-bit quotients": """
long long f(const int *x, int n) {
  long long s = 1;
  for (int i = 0; i < n; i++)
    s = (s + x[i]) / 3;
  return s;
}
""",
    "functions of C's library": """
#include <math.h>
void f(float *x, int n) {
  for (int i = 0; i < n; i++)
    x[i] = expf(x[i]);
}
""",
    "calls that are not inlined": """
int g(int);
void f(int *x, int n) {
  for (int i = 0; i < n; i++)
    x[i] = g(x[i]);
}
""",
    "lists, pointers in memory": """
struct node { int v; struct node *next; };
int f(struct node *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    s += p->v;
    p = p->next;
  }
  return s;
}
""",
    "one pointer for several arrays": """
void f(int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int *p = i & 1 ? x : y;
    p[i] += 5;
  }
}
""",
    "elements of different sizes in the same bytes": """
void f(int *x, int n) {
  short *y = (short *)x;
  for (int i = 0; i < n; i++) {
    x[i] += 3;
    y[i] ^= 1;
  }
}
""",
    "volatile and atomic accesses": """
void f(volatile int *x, int n) {
  for (int i = 0; i < n; i++)
    x[i] = 3;
}
""",
    "fused multiply-add": """
#include <math.h>
void f(float *x, float a, int n) {
  for (int i = 0; i < n; i++)
    x[i] = fmaf(x[i], a, 1.0f);
}
""",
    "a loop that clang computed or removed": """
int f(int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += i;
  return s;
}
""",
    "a file without a loop": """
int f(int x) { return 3 * x; }
""",
    "`#pragma unroll` on the loop itself": """
void f(int *restrict x, const int *restrict y, int n) {
#pragma unroll 4
  for (int i = 0; i < n; i++)
    x[i] += y[i] * 3;
}
""",
    "words after the pragma": """
void f(int *x, int n) {
#pragma gridloom unroll(2)
  for (int i = 0; i < n; i++)
    x[i] ^= 3;
}
""",
    "C that is none": """
void f(int *x) {
  x[0] = y;
}
""",
}

#: The same for arrays without memory units, where loads and stores have to be streams.
STREAM_LIMITS = {
    "64-bit elements": """
void f(long long *x, int n) {
  for (int i = 0; i < n; i++)
    x[i] += 1;
}
""",
    "an index that is computed or loaded": """
void f(const unsigned char *restrict x, int *restrict h, int n) {
  for (int i = 0; i < n; i++)
    h[x[i]]++;
}
""",
    "a load of what was stored": """
void f(int *x, int n) {
  for (int i = 0; i < n; i++)
    x[i + 3] = x[i] * 5;
}
""",
    "two stores to one element": """
void f(const int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    y[i] = x[i] + 1;
    y[i + 1] = x[i] * 3;
  }
}
""",
    "a store that stays where it is": """
void f(const int *restrict x, int *restrict y, int p, int n) {
  for (int i = 0; i < n; i++)
    if (x[i] > p)
      y[0] = x[i];
}
""",
}
