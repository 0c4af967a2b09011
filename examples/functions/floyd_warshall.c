/* PolyBench's floyd-warshall: all shortest paths. */
void floyd_warshall(int n, int path[restrict][16])
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int via = path[i][k] + path[k][j];
                path[i][j] = path[i][j] < via ? path[i][j] : via;
            }
}
