/* Sobel-like gradients along rows and columns, and the place of the steepest one. */
int gradient(const unsigned char *restrict image, short *restrict dx, short *restrict dy, int width, int height)
{
    int steepest = -1, place = -1;
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            int at = y * width + x;
            int gx = image[at + 1] - image[at - 1];
            int gy = image[at + width] - image[at - width];
            dx[at] = gx;
            dy[at] = gy;
            int size = (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy);
            if (size > steepest) {
                steepest = size;
                place = at;
            }
        }
    return place;
}
