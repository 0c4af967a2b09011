/* The compression function of SHA-1 over some blocks: message schedule and four times twenty rounds. */
#define ROTL(x, n) ((x) << (n) | (x) >> (32 - (n)))

void sha_transform(unsigned state[restrict 5], const unsigned *restrict message, int blocks, unsigned w[restrict 80])
{
    for (int block = 0; block < blocks; block++) {
        for (int i = 0; i < 16; i++)
            w[i] = message[16 * block + i];
        for (int i = 16; i < 80; i++)
            w[i] = ROTL(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        unsigned a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
        for (int i = 0; i < 20; i++) {
            unsigned t = ROTL(a, 5) + ((b & c) | (~b & d)) + e + w[i] + 0x5A827999u;
            e = d; d = c; c = ROTL(b, 30); b = a; a = t;
        }
        for (int i = 20; i < 40; i++) {
            unsigned t = ROTL(a, 5) + (b ^ c ^ d) + e + w[i] + 0x6ED9EBA1u;
            e = d; d = c; c = ROTL(b, 30); b = a; a = t;
        }
        for (int i = 40; i < 60; i++) {
            unsigned t = ROTL(a, 5) + ((b & c) | (b & d) | (c & d)) + e + w[i] + 0x8F1BBCDCu;
            e = d; d = c; c = ROTL(b, 30); b = a; a = t;
        }
        for (int i = 60; i < 80; i++) {
            unsigned t = ROTL(a, 5) + (b ^ c ^ d) + e + w[i] + 0xCA62C1D6u;
            e = d; d = c; c = ROTL(b, 30); b = a; a = t;
        }
        state[0] += a; state[1] += b; state[2] += c; state[3] += d; state[4] += e;
    }
}
