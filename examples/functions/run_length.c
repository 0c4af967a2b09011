/* Run-length coding: pairs of a byte and how often it follows itself; stops where the output is full. */
int run_length(const unsigned char *restrict in, int n, unsigned char *restrict out, int space)
{
    int used = 0;
    for (int i = 0; i < n;) {
        int count = 1;
        while (i + count < n && count < 255 && in[i + count] == in[i])
            count++;
        if (used + 2 > space)
            return -1;
        out[used++] = in[i];
        out[used++] = count;
        i += count;
    }
    return used;
}
