void relu(const int x[restrict 48], const int shift[restrict 48], int result[restrict 48])
{
    for (int i = 0; i < 48; i++) {
        int sum = x[i] + shift[i];
        result[i] = sum > 0 ? sum : 0;
    }
}
