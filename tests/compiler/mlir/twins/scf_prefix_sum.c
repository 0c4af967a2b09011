int prefix_sum(const int x[restrict 40], int y[restrict 40])
{
    int sum = 0;
    for (int i = 0; i < 40; i++)
        y[i] = sum += x[i];
    return sum;
}
