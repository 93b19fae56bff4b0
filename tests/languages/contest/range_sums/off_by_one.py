import sys

numbers = list(map(int, sys.stdin.read().split()))
n, q = numbers[:2]
sums = [0]
for value in numbers[2 : 2 + n]:
    sums.append(sums[-1] + value)
for i in range(q):
    left, right = numbers[2 + n + 2 * i : 4 + n + 2 * i]
    print(sums[right - 1] - sums[left - 1])
