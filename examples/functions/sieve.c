/* Primes below a bound: marks multiples, then counts what is left. */
int sieve(unsigned char *restrict composite, int n)
{
    for (int i = 0; i < n; i++)
        composite[i] = i < 2;
    for (int p = 2; p * p < n; p++) {
        if (composite[p])
            continue;
        for (int k = p * p; k < n; k += p)
            composite[k] = 1;
    }
    int primes = 0;
    for (int i = 0; i < n; i++)
        primes += !composite[i];
    return primes;
}
