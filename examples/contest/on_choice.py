"""Problems where more than one output is right: each brings its checker. Graphs: on_routes."""

from __future__ import annotations

from problem import Problem, leaky, numbers, right, wrong

PROBLEMS = (
    Problem(
        "sum-of-two-composites",
        "easy",
        "Print two whole numbers greater than 1, neither of them prime, whose sum is n (n at "
        "least 12). If there are several such pairs, any will do.",
        ("12\n", "4 8"),
        lambda r: ["13\n", "17\n", f"{r.randint(100, 999)}\n", f"{r.randint(10**5, 10**6)}\n"],
        (
            right("n = int(input())\nprint(*((4, n - 4) if n % 2 == 0 else (9, n - 9)))"),
            right("n = int(input())\nprint(*((n - 6, 6) if n % 2 == 0 else (n - 9, 9)))"),
            wrong("n = int(input())\nprint(n // 2, n - n // 2)"),
            right(
                r"""
#include <iostream>
int main() {
    int n;
    std::cin >> n;
    int first = n % 2 ? 9 : 8;
    if (n == 12) first = 6;
    std::cout << n - first << "\n" << first << "\n";
}
""",
                "cpp",
            ),
            leaky("print('1\\nTrue\\npoints 1\\nok')"),
        ),
        checker="""
def composite(n):
    return n > 3 and any(n % d == 0 for d in range(2, int(n**0.5) + 1))


def check(input, output, answer):
    words = output.split()
    if len(words) != 2 or not all(w.isascii() and w.isdigit() and len(w) < 10 for w in words):
        return False, "two whole numbers are wanted"
    a, b = map(int, words)
    return a + b == int(input) and composite(a) and composite(b)
""",
    ),
    Problem(
        "weights-on-scale",
        "easy",
        "N weights and a sum S are given, first N and S, then the weights. Print the places "
        "(from 1) of two of them that weigh S together. There is such a pair; any will do.",
        ("4 9\n2 7 4 5\n", "1 2"),
        lambda r: (
            ["2 6\n3 3\n"]
            + [
                f"{n} {a[0] + a[-1]}\n{' '.join(map(str, a))}\n"
                for n in (5, 30, 400)
                for a in [[r.randint(1, 99) for _ in range(n)]]
            ]
        ),
        (
            right("""
n, s = map(int, input().split())
seen = {}
for i, weight in enumerate(map(int, input().split()), 1):
    if s - weight in seen:
        print(seen[s - weight], i)
        break
    seen[weight] = i
"""),
            wrong("""
n, s = map(int, input().split())
weights = list(map(int, input().split()))
for i, weight in enumerate(weights):
    if s - weight in weights:
        print(i + 1, weights.index(s - weight) + 1)
        break
"""),
            right(
                r"""
#include <stdio.h>
int main(void) {
    int n, s, a[1000];
    scanf("%d %d", &n, &s);
    for (int i = 0; i < n; i++) scanf("%d", a + i);
    for (int i = n - 1; i > 0; i--)
        for (int j = 0; j < i; j++)
            if (a[i] + a[j] == s) { printf("%d %d\n", i + 1, j + 1); return 0; }
    return 0;
}
""",
                "c",
            ),
        ),
        checker="""
def check(input, output, answer):
    first, second = input.splitlines()
    n, s = map(int, first.split())
    weights = dict(enumerate(map(int, second.split()), 1))
    places = [int(w) for w in output.split() if w.isascii() and w.isdigit() and len(w) < 9]
    if len(places) != 2 or len(output.split()) != 2 or places[0] == places[1]:
        return False, "two different places are wanted"
    return all(p in weights for p in places) and sum(weights[p] for p in places) == s
""",
    ),
    Problem(
        "everybody-moves",
        "easy",
        "N people sit on chairs 1 to N, person i on chair i (N at least 2). Print on which chair "
        "each of them sits next, so that nobody stays and every chair is taken. Any way will do.",
        ("2\n", "2 1"),
        lambda r: ["3\n", "5\n", f"{r.randint(10, 50)}\n", f"{2 * r.randint(50, 99) + 1}\n"],
        (
            right("n = int(input())\nprint(*range(2, n + 1), 1)"),
            right("n = int(input())\nprint(n, *range(1, n))"),
            wrong("n = int(input())\nprint(*range(n, 0, -1))"),
            right(
                r"""
const n = Number(require("fs").readFileSync(0, "utf8"));
console.log(Array.from({ length: n }, (_, i) => (i + 1) % n + 1).join("\n"));
""",
                "javascript",
            ),
        ),
        checker="""
def check(input, output, answer):
    n, words = int(input), output.split()
    if sorted(words) != sorted(map(str, range(1, n + 1))):
        return False, "not each chair once"
    return all(int(word) != i for i, word in enumerate(words, 1))
""",
    ),
    Problem(
        "full-boxes",
        "hard",
        "N packets of screws are given, with how many screws are in each. Choose at least one of "
        "them, so that all screws of the chosen packets fill boxes of N screws, with none left. "
        "Print their places (from 1), each once. It can always be done; any choice will do.",
        ("3\n4 2 7\n", "1 2"),
        lambda r: ["1\n5\n", *(numbers(r, n, 1, 10**6) for n in (8, 30, 300))],
        (
            right("""
n, total, seen = int(input()), 0, {0: 0}
for i, packet in enumerate(map(int, input().split()), 1):
    total = (total + packet) % n
    if total in seen:
        print(*range(seen[total] + 1, i + 1))
        break
    seen[total] = i
"""),
            wrong("n = int(input())\nprint(*range(1, n + 1))"),
            right(
                r"""
#include <iostream>
#include <vector>
int main() {
    int n;
    std::cin >> n;
    std::vector<int> a(n);
    for (auto& x : a) std::cin >> x;
    for (int i = n - 1; i >= 0; i--) {
        long long total = 0;
        for (int j = i; j < n; j++)
            if ((total += a[j]) % n == 0) {
                for (int k = i; k <= j; k++) std::cout << k + 1 << " ";
                return 0;
            }
    }
}
""",
                "cpp",
            ),
        ),
        checker="""
def check(input, output, answer):
    first, second = input.splitlines()
    n, packets = int(first), dict(enumerate(map(int, second.split()), 1))
    words = output.split()
    known = set(map(str, packets))
    if not words or len(set(words)) != len(words) or not set(words) <= known:
        return False, "places are wanted, each once"
    return sum(packets[int(word)] for word in words) % n == 0
""",
    ),
    Problem(
        "cable-length",
        "medium",
        "Print a positive x with x * x + b * x = c, for whole b from 0 to 1000 and c from 1 to "
        "1000000. Put into the equation, x may miss c by at most 0.001.",
        ("1 6\n", "2.0"),
        lambda r: [
            "0 2\n",
            "0 1000000\n",
            "1000 1\n",
            f"{r.randint(1, 99)} {r.randint(1, 9999)}\n",
        ],
        (
            right("b, c = map(int, input().split())\nprint((-b + (b * b + 4 * c) ** 0.5) / 2)"),
            wrong("""
b, c = map(int, input().split())
print(round((-b + (b * b + 4 * c) ** 0.5) / 2, 2))
"""),
            right(
                r"""
#include <cstdio>
int main() {
    double b, c, low = 0, high = 1001;
    scanf("%lf %lf", &b, &c);
    for (int i = 0; i < 200; i++) {
        double x = (low + high) / 2;
        (x * x + b * x < c ? low : high) = x;
    }
    printf("%.12f\n", low);
}
""",
                "cpp",
            ),
            leaky("print('nan')"),
            leaky("print('1' + '0' * 100000)"),
        ),
        checker="""
def check(input, output, answer):
    b, c = map(int, input.split())
    try:
        x = float(output)
    except ValueError:
        return False, "a number is wanted"
    # Of a nan, every comparison is false.
    return 0 < x < 1e9 and abs(x * x + b * x - c) <= 0.001
""",
    ),
)
