/* The median of three in a row, for every row of an image; the border is copied. */
void median_filter(const short *restrict in, short *restrict out, int width, int height)
{
    for (int y = 0; y < height; y++) {
        const short *row = in + y * width;
        out[y * width] = row[0];
        for (int x = 1; x < width - 1; x++) {
            int a = row[x - 1], b = row[x], c = row[x + 1];
            int low = a < b ? a : b, high = a < b ? b : a;
            int m = high < c ? high : c;
            out[y * width + x] = low > m ? low : m;
        }
        out[y * width + width - 1] = row[width - 1];
    }
}
