// CRC-32 without a table, eight bits per iteration.
#include <stdint.h>

uint32_t crc32(const uint8_t *data, int n) {
  uint32_t crc = 0xffffffffu;
#pragma gridloom
  for (int i = 0; i < n; i++) {
    crc ^= data[i];
#pragma unroll
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
  }
  return ~crc;
}
