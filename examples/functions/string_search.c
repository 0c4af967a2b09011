/* How often a pattern occurs in a text: the inner loop stops at the first difference. */
int string_search(const char *restrict text, int n, const char *restrict pattern, int m, int *restrict places)
{
    int found = 0;
    for (int i = 0; i + m <= n; i++) {
        int k = 0;
        while (k < m && text[i + k] == pattern[k])
            k++;
        if (k == m)
            places[found++] = i;
    }
    return found;
}
