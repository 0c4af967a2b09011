void conv_2d(const unsigned char image[restrict 12][12], const int weights[restrict 3][3], int out[restrict 10][10])
{
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 10; x++) {
            int sum = 0;
            for (int u = 0; u < 3; u++)
                for (int v = 0; v < 3; v++)
                    sum += image[y + u][x + v] * weights[u][v];
            out[y][x] = sum;
        }
}
