/* A 3x3 convolution of bytes with saturation: a nest of four loops. */
void conv_2d(const unsigned char *restrict in, unsigned char *restrict out, const signed char weights[restrict 9],
             int width, int height, int shift)
{
    for (int y = 0; y < height - 2; y++)
        for (int x = 0; x < width - 2; x++) {
            int sum = 0;
            for (int u = 0; u < 3; u++)
                for (int v = 0; v < 3; v++)
                    sum += in[(y + u) * width + x + v] * weights[3 * u + v];
            sum >>= shift;
            out[y * (width - 2) + x] = sum < 0 ? 0 : sum > 255 ? 255 : sum;
        }
}
