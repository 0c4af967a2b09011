void histogram(const unsigned char data[restrict 64], int counts[restrict 256])
{
    for (int i = 0; i < 64; i++)
        counts[data[i]]++;
}
