#include <iostream>
#include <string>
using namespace std;

long long mod;

long long raised(long long number, int times) {
    long long result = 1 % mod;
    while (times--) result = result * number % mod;
    return result;
}

int main() {
    long long base;
    string exponent;
    cin >> base >> exponent >> mod;
    base %= mod;
    long long answer = 1 % mod;
    for (char digit : exponent)
        if (digit != '0') answer = raised(answer, 10) * raised(base, digit - '0') % mod;
    cout << answer << '\n';
}
