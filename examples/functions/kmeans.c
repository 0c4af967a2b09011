/* One round of k-means in two dimensions: nearest centres, then the means of what belongs to each. */
int kmeans(int n, int k, const short *restrict x, const short *restrict y, int *restrict cx, int *restrict cy,
           int *restrict label, int *restrict sums)
{
    int moved = 0;
    for (int c = 0; c < 3 * k; c++)
        sums[c] = 0;
    for (int i = 0; i < n; i++) {
        int nearest = 0, least = 0x7FFFFFFF;
        for (int c = 0; c < k; c++) {
            int dx = x[i] - cx[c], dy = y[i] - cy[c];
            int d = dx * dx + dy * dy;
            if (d < least) {
                least = d;
                nearest = c;
            }
        }
        if (label[i] != nearest)
            moved++;
        label[i] = nearest;
        sums[3 * nearest] += x[i];
        sums[3 * nearest + 1] += y[i];
        sums[3 * nearest + 2]++;
    }
    for (int c = 0; c < k; c++)
        if (sums[3 * c + 2]) {
            cx[c] = sums[3 * c] / sums[3 * c + 2];
            cy[c] = sums[3 * c + 1] / sums[3 * c + 2];
        }
    return moved;
}
