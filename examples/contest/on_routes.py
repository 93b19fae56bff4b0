"""Problems on graphs where more than one output is right: each brings its checker."""

from __future__ import annotations

from random import Random

from problem import Problem, right, wrong


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
