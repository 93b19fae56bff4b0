#include <stdio.h>

static long long modulus;

static long long power(long long number, int times) {
    long long result = 1 % modulus;
    while (times--) result = result * number % modulus;
    return result;
}

int main(void) {
    static char exponent[10001];
    long long base;
    if (scanf("%lld %10000s %lld", &base, exponent, &modulus) != 3) return 1;
    base %= modulus;
    long long answer = 1 % modulus;
    for (char *digit = exponent; *digit; digit++)
        if (*digit != '0') answer = power(answer, 10) * power(base, *digit - '0') % modulus;
    printf("%lld\n", answer);
}
