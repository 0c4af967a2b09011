/* The distance of two words: one row of the table is kept. */
int levenshtein(const char *restrict a, int n, const char *restrict b, int m, int *restrict row)
{
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 0; i < n; i++) {
        int corner = i, left = i + 1;
        row[0] = left;
        for (int j = 0; j < m; j++) {
            int above = row[j + 1];
            int cost = corner + (a[i] != b[j]);
            if (above + 1 < cost)
                cost = above + 1;
            if (left + 1 < cost)
                cost = left + 1;
            corner = above;
            row[j + 1] = left = cost;
        }
    }
    return row[m];
}
