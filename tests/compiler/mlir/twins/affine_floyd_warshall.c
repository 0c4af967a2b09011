void floyd_warshall(int path[restrict 10][10])
{
    for (int k = 0; k < 10; k++)
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < 10; j++) {
                int via = path[i][k] + path[k][j];
                path[i][j] = path[i][j] < via ? path[i][j] : via;
            }
}
