void spmv(const int starts[restrict 13], const int columns[restrict 64], const int values[restrict 64], const int x[restrict 16], int y[restrict 12])
{
    for (int row = 0; row < 12; row++) {
        int sum = 0;
        for (int k = starts[row]; k < starts[row + 1]; k++)
            sum += values[k] * x[columns[k]];
        y[row] = sum;
    }
}
