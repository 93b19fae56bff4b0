"""Problems where more than one output is right: each brings its checker."""

from __future__ import annotations

from random import Random

from problem import Problem, leaky, numbers, right, wrong


def _rules(random: Random, nodes: int, edges: int) -> str:
    """A graph without cycles: numbers of nodes and edges, and a line for each edge."""
    order = random.sample(range(1, nodes + 1), nodes)
    lines = []
    for _ in range(edges):
        i, j = sorted(random.sample(range(nodes), 2))
        lines.append(f"{order[i]} {order[j]}")
    return "\n".join([f"{nodes} {edges}", *lines]) + "\n"


def _streets(random: Random, nodes: int, edges: int) -> str:
    """Numbers of nodes and edges, and a line for each edge."""
    pairs = (random.sample(range(1, nodes + 1), 2) for _ in range(edges))
    return f"{nodes} {edges}\n" + "".join(f"{a} {b}\n" for a, b in pairs)


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
        "order-of-dishes",
        "medium",
        "N dishes, M rules: 'a b' says that a has to be cooked before b. Print an order of all "
        "dishes, in one line, that keeps every rule; or print 'none' if there is no such order. "
        "Any order that keeps the rules will do.",
        ("3 2\n3 1\n1 2\n", "3 1 2"),
        lambda r: ["1 0\n", "3 3\n1 2\n2 3\n3 1\n", _rules(r, 8, 9), _rules(r, 30, 70)],
        (
            right("""
n, m = map(int, input().split())
rules = [tuple(map(int, input().split())) for _ in range(m)]
order, left = [], list(range(1, n + 1))
while left:
    ready = [d for d in left if all(b != d or a in order for a, b in rules)]
    if not ready:
        break
    order.append(ready[0])
    left.remove(ready[0])
print(*order if not left else ["none"])
"""),
            right("""
n, m = map(int, input().split())
rules = [tuple(map(int, input().split())) for _ in range(m)]
order, left = [], list(range(1, n + 1))
while left:
    last = [d for d in left if all(a != d or b in order for a, b in rules)]
    if not last:
        break
    order.append(last[-1])
    left.remove(last[-1])
print(*order[::-1] if not left else ["none"])
"""),
            wrong("""
n, m = map(int, input().split())
rules = [tuple(map(int, input().split())) for _ in range(m)]
before = {d: sum(b == d for a, b in rules) for d in range(1, n + 1)}
print(*sorted(before, key=before.get))
"""),
            right(
                r"""
import java.util.*;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt(), m = in.nextInt();
        int[] before = new int[n + 1];
        List<List<Integer>> after = new ArrayList<>();
        for (int i = 0; i <= n; i++) after.add(new ArrayList<>());
        while (m-- > 0) {
            int a = in.nextInt(), b = in.nextInt();
            after.get(a).add(b);
            before[b]++;
        }
        Deque<Integer> ready = new ArrayDeque<>();
        for (int i = n; i > 0; i--) if (before[i] == 0) ready.push(i);
        StringBuilder out = new StringBuilder();
        int count = 0;
        for (; !ready.isEmpty(); count++) {
            int dish = ready.pop();
            out.append(dish).append(' ');
            for (int next : after.get(dish)) if (--before[next] == 0) ready.push(next);
        }
        System.out.println(count == n ? out.toString() : "none");
    }
}
""",
                "java",
            ),
        ),
        checker="""
def check(input, output, answer):
    if answer.strip() == "none":
        return output.strip() == "none"
    lines = [list(map(int, line.split())) for line in input.splitlines()]
    (n, m), rules = lines[0], lines[1:]
    words = output.split()
    if sorted(words) != sorted(map(str, range(1, n + 1))):
        return False, "not each dish once"
    place = {int(word): i for i, word in enumerate(words)}
    return all(place[a] < place[b] for a, b in rules)
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
    Problem(
        "shortest-walk",
        "medium",
        "N crossings, M streets that can be walked in both directions. Print the crossings of a "
        "walk from 1 to N along as few streets as possible, first and last among them; or print "
        "-1 if there is none. Any walk that is as short will do.",
        ("4 4\n1 2\n1 3\n2 4\n3 4\n", "1 2 4"),
        lambda r: ["2 0\n", *(_streets(r, n, m) for n, m in ((6, 8), (30, 50), (80, 160)))],
        (
            right("""
n, m = map(int, input().split())
near = {i: [] for i in range(1, n + 1)}
for _ in range(m):
    a, b = map(int, input().split())
    near[a].append(b)
    near[b].append(a)
came, todo = {1: 0}, [1]
for at in todo:
    for other in near[at]:
        if other not in came:
            came[other] = at
            todo.append(other)
walk, at = [], n
while at in came:
    walk.append(at)
    at = came[at]
print(*walk[::-1] or [-1])
"""),
            right("""
n, m = map(int, input().split())
near = {i: set() for i in range(1, n + 1)}
for _ in range(m):
    a, b = map(int, input().split())
    near[a].add(b)
    near[b].add(a)
far, edge = {n: 0}, {n}
while edge:
    edge = {other for at in edge for other in near[at]} - far.keys()
    far.update(dict.fromkeys(edge, max(far.values()) + 1))
walk = [1]
while walk[-1] in far and far[walk[-1]]:
    walk.append(max(x for x in near[walk[-1]] if far[x] == far[walk[-1]] - 1))
print(*walk if 1 in far else [-1])
"""),
            wrong("""
n, m = map(int, input().split())
near = {i: [] for i in range(1, n + 1)}
for _ in range(m):
    a, b = map(int, input().split())
    near[a].append(b)
    near[b].append(a)
came, todo = {1: 0}, [1]
while todo:
    at = todo.pop()
    for other in near[at]:
        if other not in came:
            came[other] = at
            todo.append(other)
walk, at = [], n
while at in came:
    walk.append(at)
    at = came[at]
print(*walk[::-1] or [-1])
"""),
        ),
        checker="""
def check(input, output, answer):
    if answer.strip() == "-1":
        return output.strip() == "-1"
    (n, m), *streets = [tuple(map(int, line.split())) for line in input.splitlines()]
    known = {frozenset(street) for street in streets}
    words = output.split()
    if not set(words) <= set(map(str, range(1, n + 1))):
        return False, "not the numbers of crossings"
    walk = list(map(int, words))
    if len(walk) != len(answer.split()) or walk[0] != 1 or walk[-1] != n:
        return False, "not as short, or between other crossings"
    return all(frozenset(pair) in known for pair in zip(walk, walk[1:]))
""",
    ),
)
