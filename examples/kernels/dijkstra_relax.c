// Relaxation of the edges that leave one node: shorter ways are kept with where they come from.
void dijkstra_relax(const int *restrict weight, int *restrict distance, int *restrict before, int node, int here, int n) {
  for (int v = 0; v < n; v++) {
    int through = here + weight[v];
    if (weight[v] > 0 && through < distance[v]) {
      distance[v] = through;
      before[v] = node;
    }
  }
}
