void tiled_scale(int x[restrict 30], int factor)
{
    for (int tile = 0; tile < 30; tile += 4)
        for (int i = tile; i < (tile + 4 < 30 ? tile + 4 : 30); i++)
            x[i] *= factor;
}
