/* Shortest paths from one node: pick the nearest open node, relax its edges, and stop when none is left. */
int dijkstra(int n, const int weights[restrict][16], int *restrict distance, int *restrict done, int start)
{
    int closed = 0;
    for (int i = 0; i < n; i++) {
        distance[i] = 1 << 20;
        done[i] = 0;
    }
    distance[start] = 0;
    for (int round = 0; round < n; round++) {
        int nearest = -1, best = 1 << 20;
        for (int i = 0; i < n; i++)
            if (!done[i] && distance[i] < best) {
                best = distance[i];
                nearest = i;
            }
        if (nearest < 0)
            break;
        done[nearest] = 1;
        closed++;
        for (int i = 0; i < n; i++) {
            int w = weights[nearest][i];
            int through = best + w;
            if (w > 0 && through < distance[i])
                distance[i] = through;
        }
    }
    return closed;
}
