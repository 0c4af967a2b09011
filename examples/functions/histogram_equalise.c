/* Spreads the grey levels of an image: count, add up, look up. */
void histogram_equalise(unsigned char *restrict image, int n, int counts[restrict 256])
{
    for (int v = 0; v < 256; v++)
        counts[v] = 0;
    for (int i = 0; i < n; i++)
        counts[image[i]]++;
    int sum = 0;
    for (int v = 0; v < 256; v++) {
        sum += counts[v];
        counts[v] = sum * 255 / n;
    }
    for (int i = 0; i < n; i++)
        image[i] = counts[image[i]];
}
