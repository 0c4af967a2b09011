/* A decoder of a code with four states: costs forward, the best path backward. */
int viterbi(const unsigned char *restrict symbols, unsigned char *restrict bits, unsigned char came[restrict][4], int n)
{
    int cost[4] = {0, 1000, 1000, 1000};
    for (int t = 0; t < n; t++) {
        int next[4];
        for (int s = 0; s < 4; s++) {
            int first = (s << 1) & 3, second = first | 1;
            int bit = s >> 1;
            int expected = bit ^ (first & 1) ^ (first >> 1);
            int wrong = (symbols[t] ^ expected) & 1;
            int a = cost[first] + wrong;
            int b = cost[second] + 1 - wrong;
            next[s] = a <= b ? a : b;
            came[t][s] = a <= b ? first : second;
        }
        for (int s = 0; s < 4; s++)
            cost[s] = next[s];
    }
    int state = 0;
    for (int s = 1; s < 4; s++)
        if (cost[s] < cost[state])
            state = s;
    int least = cost[state];
    for (int t = n - 1; t >= 0; t--) {
        bits[t] = state >> 1;
        state = came[t][state];
    }
    return least;
}
