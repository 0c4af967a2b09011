// Loops as they are written by hand, in many forms: gridloom show examples/forms.c says what becomes of each.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define W 32
#define H 24
#define N 16

// Stencils

void stencil_rows(int in[restrict H][W], int out[restrict H][W]) {
  for (int y = 1; y < H - 1; y++)
    for (int x = 0; x < W; x++)
      out[y][x] = in[y - 1][x] + 2 * in[y][x] + in[y + 1][x];
}

void stencil_flat(const int *restrict in, int *restrict out, int w, int h) {
  for (int y = 1; y < h - 1; y++)
    for (int x = 1; x < w - 1; x++)
      out[y * w + x] = (in[(y - 1) * w + x] + in[(y + 1) * w + x] + in[y * w + x - 1] + in[y * w + x + 1]) >> 2;
}

void stencil_pointer(const int *restrict p, int *restrict q, int n) {
  const int *end = p + n - 2;
  while (p < end) {
    *q++ = p[0] + p[1] + p[2];
    p++;
  }
}

void stencil_in_place(int *x, int n) {
  for (int i = 1; i < n - 1; i++)
    x[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
}

void blur_bytes(const uint8_t *restrict in, uint8_t *restrict out, int n) {
  for (int i = 1; i < n - 1; i++)
    out[i] = (uint8_t)((in[i - 1] + 2 * in[i] + in[i + 1] + 2) / 4);
}

float smooth(const float *restrict x, float *restrict y, int n) {
  float last = 0.0f;
  for (int i = 1; i < n - 1; i++)
    y[i] = last = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
  return last;
}

// Histograms

void histogram_bytes(const uint8_t *restrict x, int *restrict bins, int n) {
  for (int i = 0; i < n; i++)
    bins[x[i]]++;
}

void histogram_shifted(const uint16_t *restrict x, unsigned bins[restrict 16], size_t n) {
  for (size_t i = 0; i < n; ++i)
    bins[x[i] >> 12] += 1;
}

void histogram_weighted(const uint8_t *restrict x, const int *restrict weight, int bins[restrict 256], int n) {
  for (int i = 0; i < n; i++)
    if (weight[i] > 0)
      bins[x[i]] += weight[i];
}

void histogram_clear(int bins[256]) {
  for (int i = 0; i < 256; i++)
    bins[i] = 0;
}

// Matrix products

void matmul(int a[restrict N][N], int b[restrict N][N], int c[restrict N][N]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      c[i][j] = 0;
      for (int k = 0; k < N; k++)
        c[i][j] += a[i][k] * b[k][j];
    }
}

void matmul_flat(const int *restrict a, const int *restrict b, int *restrict c, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      int sum = 0;
      for (int k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}

void matvec_float(const float *restrict a, const float *restrict x, float *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    float sum = 0;
    for (int k = 0; k < n; k++)
      sum += a[i * n + k] * x[k];
    y[i] = sum;
  }
}

int64_t dot_wide(const int *restrict x, const int *restrict y, int n) {
  int64_t sum = 0;
  for (int i = 0; i < n; i++)
    sum += (int64_t)x[i] * y[i];
  return sum;
}

double dot_double(const double *x, const double *y, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

void transpose(int a[restrict N][N], int b[restrict N][N]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      b[j][i] = a[i][j];
}

// Two-dimensional convolutions

void conv2d(const int *restrict in, const int *restrict kernel, int *restrict out, int w, int h, int k) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      int sum = 0;
      for (int dy = 0; dy < k; dy++)
        for (int dx = 0; dx < k; dx++)
          sum += in[(y + dy) * (w + k) + x + dx] * kernel[dy * k + dx];
      out[y * w + x] = sum;
    }
}

void conv2d_3x3(int in[restrict H][W], int kernel[restrict 3][3], int out[restrict H][W]) {
  for (int y = 1; y < H - 1; y++)
    for (int x = 1; x < W - 1; x++) {
      int sum = 0;
#pragma unroll
      for (int dy = -1; dy <= 1; dy++)
#pragma unroll
        for (int dx = -1; dx <= 1; dx++)
          sum += in[y + dy][x + dx] * kernel[dy + 1][dx + 1];
      out[y][x] = sum >> 4;
    }
}

void conv2d_clamped(const uint8_t *restrict in, uint8_t *restrict out, int w) {
  for (int x = 0; x < w; x++) {
    int left = x > 0 ? in[x - 1] : in[0], right = x < w - 1 ? in[x + 1] : in[w - 1];
    out[x] = (left + 2 * in[x] + right) >> 2;
  }
}

// Strings

size_t string_length(const char *s) {
  size_t n = 0;
  while (s[n])
    n++;
  return n;
}

void string_copy(char *restrict to, const char *restrict from) {
  while ((*to++ = *from++))
    ;
}

int string_compare(const char *a, const char *b, int n) {
  for (int i = 0; i < n; i++)
    if (a[i] != b[i])
      return a[i] - b[i];
  return 0;
}

void string_upper(char *restrict s, int n) {
  for (int i = 0; i < n; i++)
    if (s[i] >= 'a' && s[i] <= 'z')
      s[i] -= 'a' - 'A';
}

int string_count(const char *s, char wanted, int n) {
  int count = 0;
  for (int i = 0; i < n; i++)
    count += s[i] == wanted;
  return count;
}

unsigned string_hash(const char *s, int n) {
  unsigned hash = 5381;
  for (int i = 0; i < n; i++)
    hash = hash * 33 + (unsigned char)s[i];
  return hash;
}

int string_to_int(const char *s, int n) {
  int value = 0;
  for (int i = 0; i < n; i++)
    value = 10 * value + (s[i] - '0');
  return value;
}

int string_classes(const char *restrict s, int *restrict seen, int n) {
  int other = 0;
  for (int i = 0; i < n; i++)
    switch (s[i]) {
    case ' ': seen[0] += 1; break;
    case '\n': seen[1] += 1; break;
    case ',': seen[2] += s[i]; break;
    default: other += s[i] ^ i; break;
    }
  return other;
}

// Saturating arithmetic

void add_saturated(const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict c, int n) {
  for (int i = 0; i < n; i++) {
    int sum = a[i] + b[i];
    if (sum > 32767)
      sum = 32767;
    if (sum < -32768)
      sum = -32768;
    c[i] = (int16_t)sum;
  }
}

static int saturate(int64_t value) {
  return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int)value;
}

void add_saturated_words(const int *restrict a, const int *restrict b, int *restrict c, int n) {
  for (int i = 0; i < n; i++)
    c[i] = saturate((int64_t)a[i] + b[i]);
}

void multiply_q15(const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict c, int n) {
  for (int i = 0; i < n; i++) {
    int64_t product = ((int64_t)a[i] * b[i] + (1 << 14)) >> 15;
    c[i] = (int16_t)(product > 32767 ? 32767 : product);
  }
}

void multiply_q31(const int *restrict a, const int *restrict b, int *restrict c, int n) {
  for (int i = 0; i < n; i++)
    c[i] = saturate(((int64_t)a[i] * b[i] + (1LL << 30)) >> 31);
}

void clamp_bytes(const int *restrict x, uint8_t *restrict y, int n) {
  for (int i = 0; i < n; i++)
    y[i] = (uint8_t)(x[i] < 0 ? 0 : x[i] > 255 ? 255 : x[i]);
}

// Others

int largest(const int *x, int n) {
  int best = x[0];
  for (int i = 1; i < n; i++)
    if (x[i] > best)
      best = x[i];
  return best;
}

int sum_of_numbers(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += i;
  return sum;
}

void exponentials(const float *restrict x, float *restrict y, int n) {
  for (int i = 0; i < n; i++)
    y[i] = expf(x[i]);
}

int list_length(const struct node { struct node *next; } *node) {
  int n = 0;
  for (; node; node = node->next)
    n++;
  return n;
}

void divide_all(int *restrict x, int by, int n) {
  for (int i = 0; i < n; i++)
    x[i] /= by;
}
