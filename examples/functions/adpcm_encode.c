/* Speech to four bits for each sample: quantised differences with a step that adapts. */
static const int steps[89] = {
    7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107,
    118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963,
    1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894,
    6484, 7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794,
    32767};
static const int changes[16] = {-1, -1, -1, -1, 2, 4, 6, 8, -1, -1, -1, -1, 2, 4, 6, 8};

int adpcm_encode(const short *restrict in, unsigned char *restrict out, int n)
{
    int predicted = 0, index = 0;
    for (int i = 0; i < n; i++) {
        int step = steps[index];
        int difference = in[i] - predicted;
        int code = 0;
        if (difference < 0) {
            code = 8;
            difference = -difference;
        }
        int change = step >> 3;
        if (difference >= step) { code |= 4; difference -= step; change += step; }
        step >>= 1;
        if (difference >= step) { code |= 2; difference -= step; change += step; }
        step >>= 1;
        if (difference >= step) { code |= 1; change += step; }
        predicted += code & 8 ? -change : change;
        if (predicted > 32767) predicted = 32767;
        if (predicted < -32768) predicted = -32768;
        index += changes[code];
        if (index < 0) index = 0;
        if (index > 88) index = 88;
        out[i] = code;
    }
    return index;
}
