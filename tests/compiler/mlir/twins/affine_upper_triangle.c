void upper_triangle(int A[restrict 12][12])
{
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++)
            if (j > i)
                A[i][j] = 2 * A[i][j];
            else
                A[i][j] = 0;
}
