/* A checksum of a message: the table is computed first, then one look-up for each byte. */
unsigned crc32(const unsigned char *restrict data, int n, unsigned table[restrict 256])
{
    for (unsigned i = 0; i < 256; i++) {
        unsigned c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        table[i] = c;
    }
    unsigned crc = 0xFFFFFFFFu;
    for (int i = 0; i < n; i++)
        crc = table[(crc ^ data[i]) & 0xFF] ^ (crc >> 8);
    return ~crc;
}
