/* Sorting by insertion: the inner loop moves elements until the place is found. */
void insertion_sort(int *x, int n)
{
    for (int i = 1; i < n; i++) {
        int v = x[i];
        int j = i - 1;
        while (j >= 0 && x[j] > v) {
            x[j + 1] = x[j];
            j--;
        }
        x[j + 1] = v;
    }
}
