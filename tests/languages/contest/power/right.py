base, exponent, modulus = input().split()
base, modulus = int(base), int(modulus)


def power(number, times):
    result = 1 % modulus
    for _ in range(times):
        result = result * number % modulus
    return result


answer = 1 % modulus
for digit in map(int, exponent):
    answer = power(answer, 10) * power(base, digit) % modulus
print(answer)
