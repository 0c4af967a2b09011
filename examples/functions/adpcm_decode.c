/* The way back: four bits for each sample to speech. The steps grow by about a tenth each. */
int adpcm_decode(const unsigned char *restrict in, short *restrict out, int n, int steps[restrict 89])
{
    int size = 7 << 8;
    for (int i = 0; i < 89; i++) {
        steps[i] = size >> 8;
        size += size / 10;
    }
    int predicted = 0, index = 0;
    for (int i = 0; i < n; i++) {
        int code = in[i] & 15;
        int step = steps[index];
        int change = step >> 3;
        if (code & 4) change += step;
        if (code & 2) change += step >> 1;
        if (code & 1) change += step >> 2;
        predicted += code & 8 ? -change : change;
        predicted = predicted > 32767 ? 32767 : predicted < -32768 ? -32768 : predicted;
        index += (code & 7) < 4 ? -1 : 2 * (code & 7) - 6;
        index = index < 0 ? 0 : index > 88 ? 88 : index;
        out[i] = predicted;
    }
    return predicted;
}
