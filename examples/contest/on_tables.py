"""Problems for dynamic programming."""

from __future__ import annotations

from problem import Problem, leaky, numbers, right, slow, word, wrong

PROBLEMS = (
    Problem(
        "ways-to-pay",
        "medium",
        "In how many ways can an amount be paid with coins of the given values, as many of each "
        "as you like? The order of the coins does not matter. First the amount, then the values.",
        ("5\n1 2 5\n", "4"),
        lambda r: ["0\n3\n", "7\n2 4\n", "50\n1 7 10 25\n", f"{r.randint(300, 400)}\n1 2 3 5 8\n"],
        (
            right("""
amount = int(input())
ways = [1] + [0] * amount
for coin in map(int, input().split()):
    for total in range(coin, amount + 1):
        ways[total] += ways[total - coin]
print(ways[amount])
"""),
            wrong("""
amount = int(input())
coins = list(map(int, input().split()))
ways = [1] + [0] * amount
for total in range(1, amount + 1):
    ways[total] = sum(ways[total - coin] for coin in coins if coin <= total)
print(ways[amount])
"""),
            right(
                r"""
#include <iostream>
#include <vector>
int main() {
    int amount;
    std::cin >> amount;
    std::vector<long long> ways(amount + 1);
    ways[0] = 1;
    for (int coin; std::cin >> coin;)
        for (int total = coin; total <= amount; total++) ways[total] += ways[total - coin];
    std::cout << ways[amount] << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "fewest-stamps",
        "medium",
        "A letter needs exact postage. Print the smallest number of stamps of the given values "
        "that makes it up, or -1 if none does. First the postage, then the values.",
        ("6\n1 3 4\n", "2"),
        lambda r: ["0\n5\n", "7\n2 4\n", "30\n1 10 25\n", f"{r.randint(200, 300)}\n7 9 24 31\n"],
        (
            right("""
postage = int(input())
values = list(map(int, input().split()))
fewest = [0]
for total in range(1, postage + 1):
    fewest.append(1 + min((fewest[total - v] for v in values if v <= total), default=10**6))
print(fewest[postage] if fewest[postage] < 10**6 else -1)
"""),
            wrong("""
postage, count = int(input()), 0
for value in sorted(map(int, input().split()), reverse=True):
    count += postage // value
    postage %= value
print(-1 if postage else count)
"""),
        ),
    ),
    Problem(
        "typing-errors",
        "hard",
        "Two words are given, one a line. By how few changes does the first become the second, "
        "where a change adds a letter, takes one away, or replaces one?",
        ("house\nmouses\n", "2"),
        lambda r: ["a\na\n", *(f"{word(r, n, 'abc')}\n{word(r, n, 'abc')}\n" for n in (5, 14, 60))],
        (
            right("""
a, b = input(), input()
row = list(range(len(b) + 1))
for i, x in enumerate(a, 1):
    last, row = row, [i]
    for j, y in enumerate(b, 1):
        row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y)))
print(row[-1])
"""),
            wrong("""
a, b = input(), input()
print(sum(x != y for x, y in zip(a, b)) + abs(len(a) - len(b)))
"""),
            slow("""
a, b = input(), input()
def cost(i, j):
    if not i or not j:
        return i + j
    swap = cost(i - 1, j - 1) + (a[i - 1] != b[j - 1])
    return min(swap, cost(i - 1, j) + 1, cost(i, j - 1) + 1)
print(cost(len(a), len(b)))
"""),
            right(
                r"""
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>
int main() {
    std::string a, b;
    std::cin >> a >> b;
    std::vector<std::vector<int>> t(a.size() + 1, std::vector<int>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); i++)
        for (size_t j = 0; j <= b.size(); j++)
            if (!i || !j) t[i][j] = i + j;
            else t[i][j] = std::min({t[i - 1][j] + 1, t[i][j - 1] + 1,
                                     t[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
    std::cout << t[a.size()][b.size()] << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "rope-prices",
        "medium",
        "A shop pays a price for each piece of rope of 1, 2, ..., N meters. You have a rope of N "
        "meters and cut it as you like into whole meters. What is the most you get?",
        ("4\n1 5 8 9\n", "10"),
        lambda r: ["1\n3\n", "3\n2 5 6\n", numbers(r, 12, 1, 40), numbers(r, 100, 1, 500)],
        (
            right("""
n = int(input())
price = list(map(int, input().split()))
best = [0]
for length in range(1, n + 1):
    best.append(max(price[cut - 1] + best[length - cut] for cut in range(1, length + 1)))
print(best[n])
"""),
            wrong("""
n = int(input())
price = list(map(int, input().split()))
cut = max(range(1, n + 1), key=lambda c: price[c - 1] / c)
rest = n % cut
print(n // cut * price[cut - 1] + (price[rest - 1] if rest else 0))
"""),
        ),
    ),
    Problem(
        "broken-stairs",
        "medium",
        "A staircase has N steps; some are broken and cannot be used. From the floor you go up "
        "1, 2 or 3 steps at a time. In how many ways do you get to step N, modulo 1000000007? "
        "First N and the number of broken steps, then these (the line is empty if there is none).",
        ("4 1\n2\n", "3"),
        lambda r: [
            "1 0\n\n",
            "5 3\n2 3 4\n",
            "10 0\n\n",
            "40 2\n7 19\n",
            f"{r.randint(300, 500)} 3\n5 77 78\n",
        ],
        (
            right("""
n, _ = map(int, input().split())
broken = set(map(int, input().split()))
ways = [0, 0, 1]
for step in range(1, n + 1):
    ways.append(0 if step in broken else sum(ways[-3:]) % 1000000007)
print(ways[-1])
"""),
            wrong("""
n, _ = map(int, input().split())
broken = set(map(int, input().split()))
ways = [0, 1]
for step in range(1, n + 1):
    ways.append(0 if step in broken else sum(ways[-2:]) % 1000000007)
print(ways[-1])
"""),
            slow("""
n, _ = map(int, input().split())
broken = set(map(int, input().split()))
def ways(step):
    if step < 1 or step in broken:
        return int(step == 0)
    return ways(step - 1) + ways(step - 2) + ways(step - 3)
import sys
sys.setrecursionlimit(10000)
print(ways(n) % 1000000007)
"""),
            leaky("""
import os, signal, sys
os.write(1, b"")
for fd in range(3, 64):
    for record in (b'{"ok": true}', b'{"status": "ACCEPTED", "exit_code": 0}\\n'):
        try:
            os.write(fd, record)
        except OSError:
            pass
os._exit(0)
"""),
        ),
    ),
    Problem(
        "common-melody",
        "hard",
        "Two melodies are words of notes, one a line. Notes may be left out of both, the rest "
        "stays in order. How many notes has the longest melody that both can become?",
        ("cdefg\nadfga\n", "3"),
        lambda r: (
            [
                "a\nb\n",
                *(f"{word(r, n, 'abcdefg')}\n{word(r, n, 'abcdefg')}\n" for n in (9, 99)),
                "abab\nbaba\n",
            ]
        ),
        (
            right("""
a, b = input(), input()
row = [0] * (len(b) + 1)
for x in a:
    last, row = row, [0]
    for j, y in enumerate(b):
        row.append(last[j] + 1 if x == y else max(last[j + 1], row[j]))
print(row[-1])
"""),
            wrong("""
from collections import Counter
print(sum((Counter(input()) & Counter(input())).values()))
"""),
            right(
                r"""
import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        String a = in.next(), b = in.next();
        int[][] t = new int[a.length() + 1][b.length() + 1];
        for (int i = 1; i <= a.length(); i++)
            for (int j = 1; j <= b.length(); j++)
                t[i][j] = a.charAt(i - 1) == b.charAt(j - 1)
                    ? t[i - 1][j - 1] + 1 : Math.max(t[i - 1][j], t[i][j - 1]);
        System.out.println(t[a.length()][b.length()]);
    }
}
""",
                "java",
            ),
        ),
    ),
    Problem(
        "fair-shelves",
        "hard",
        "N books have the given thickness. Can all of them be put on two shelves, so that both "
        "are filled equally far? Print yes or no.",
        ("4\n3 1 5 9\n", "yes"),
        lambda r: (
            [
                "1\n0\n",
                "3\n2 2 4\n",
                "3\n1 1 4\n",
                "4\n8 8 8 2\n",
                f"26\n{' '.join(str(2 * r.randint(10**5, 10**6)) for _ in range(25))} 60000000\n",
            ]
        ),
        (
            right("""
input()
books = list(map(int, input().split()))
half, sums = sum(books) // 2, {0}
if max(books) <= half:
    for book in books:
        sums |= {s + book for s in sums if s + book <= half}
fair = max(books) <= half and half in sums or not half
print("yes" if fair and sum(books) % 2 == 0 else "no")
"""),
            wrong("""
input()
print("no" if sum(map(int, input().split())) % 2 else "yes")
"""),
            slow("""
input()
books = list(map(int, input().split()))
def fits(i, left):
    if i == len(books):
        return left == 0
    a, b = fits(i + 1, left - books[i]), fits(i + 1, left + books[i])
    return a or b
print("yes" if fits(0, 0) else "no")
"""),
        ),
    ),
)
