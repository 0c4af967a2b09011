/* SUSAN-like edges: for each pixel, how many of its neighbours are about as bright. */
void susan_edges(const unsigned char *restrict image, unsigned char *restrict edges, int width, int height, int threshold)
{
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            int centre = image[y * width + x];
            int alike = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    int difference = image[(y + dy) * width + x + dx] - centre;
                    if (difference < 0)
                        difference = -difference;
                    if (difference <= threshold)
                        alike++;
                }
            edges[y * width + x] = alike < 7 ? (7 - alike) * 36 : 0;
        }
}
