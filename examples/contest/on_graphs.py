"""Problems on graphs and grids."""

from __future__ import annotations

from random import Random

from problem import Problem, leaky, right, wrong


def _grid(random: Random, rows: int, columns: int, cells: str) -> str:
    """A size, and as many lines of cells."""
    lines = ("".join(random.choice(cells) for _ in range(columns)) for _ in range(rows))
    return f"{rows} {columns}\n" + "\n".join(lines) + "\n"


def _graph(random: Random, nodes: int, edges: int, weight: int = 0) -> str:
    """Numbers of nodes and edges, and a line for each edge; with a weight, where one is given."""
    lines = []
    for _ in range(edges):
        edge = random.sample(range(1, nodes + 1), 2)
        if weight:
            edge.append(random.randint(1, weight))
        lines.append(" ".join(map(str, edge)))
    return "\n".join([f"{nodes} {edges}", *lines]) + "\n"


def _tree(random: Random, nodes: int, reach: int) -> str:
    """A number of nodes, and a line for each edge: a child hangs at most `reach` numbers away."""
    edges = (f"{random.randint(max(1, i - reach), i - 1)} {i}\n" for i in range(2, nodes + 1))
    return f"{nodes}\n" + "".join(edges)


PROBLEMS = (
    Problem(
        "ponds",
        "easy",
        "A map has R rows and C columns of land (.) and water (~). Water cells that share a side "
        "are one pond. How many ponds are there?",
        ("3 4\n~..~\n~.~.\n....\n", "3"),
        lambda r: ["1 1\n.\n", *(_grid(r, a, b, ".~") for a, b in ((4, 4), (6, 9), (15, 15)))],
        (
            right("""
rows, columns = map(int, input().split())
water = {(i, j) for i in range(rows) for j, cell in enumerate(input()) if cell == "~"}
count = 0
while water:
    count += 1
    todo = [water.pop()]
    while todo:
        i, j = todo.pop()
        for near in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if near in water:
                water.remove(near)
                todo.append(near)
print(count)
"""),
            wrong("""
rows, columns = map(int, input().split())
water = {(i, j) for i in range(rows) for j, cell in enumerate(input()) if cell == "~"}
count = 0
while water:
    count += 1
    todo = [water.pop()]
    while todo:
        i, j = todo.pop()
        for near in [(i + a, j + b) for a in (-1, 0, 1) for b in (-1, 0, 1)]:
            if near in water:
                water.remove(near)
                todo.append(near)
print(count)
"""),
            right(
                r"""
#include <iostream>
#include <string>
#include <vector>
std::vector<std::string> map;
bool drain(int i, int j) {
    if (i < 0 || j < 0 || i >= (int)map.size() || j >= (int)map[i].size()) return false;
    if (map[i][j] != '~') return false;
    map[i][j] = '.';
    drain(i + 1, j), drain(i - 1, j), drain(i, j + 1), drain(i, j - 1);
    return true;
}
int main() {
    int rows, columns, count = 0;
    std::cin >> rows >> columns;
    map.resize(rows);
    for (auto& row : map) std::cin >> row;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) count += drain(i, j);
    std::cout << count << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "knight-trip",
        "medium",
        "A chess knight stands in one corner of a board of N times N squares. How many moves "
        "does it need to the corner across? Print -1 if it cannot get there.",
        ("3\n", "4"),
        lambda r: ["1\n", "2\n", "4\n", f"{r.randint(5, 20)}\n", "30\n"],
        (
            right("""
n = int(input())
steps = [(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b)]
moves, edge, seen = 0, {(0, 0)}, {(0, 0)}
while edge and (n - 1, n - 1) not in seen:
    moves += 1
    edge = {(x + a, y + b) for x, y in edge for a, b in steps} - seen
    edge = {(x, y) for x, y in edge if 0 <= x < n and 0 <= y < n}
    seen |= edge
print(moves if (n - 1, n - 1) in seen else -1)
"""),
            wrong("n = int(input())\nprint(-1 if n == 2 else 2 * ((2 * n - 2 + 2) // 3))"),
        ),
    ),
    Problem(
        "largest-circle-of-friends",
        "easy",
        "N people, M friendships. Friends of friends know each other, too, and so on. How many "
        "people are in the largest circle of those who know each other?",
        ("5 3\n1 2\n2 3\n4 5\n", "3"),
        lambda r: ["1 0\n", _graph(r, 8, 5), _graph(r, 30, 18), _graph(r, 100, 60)],
        (
            right("""
from collections import Counter
n, m = map(int, input().split())
circle = list(range(n + 1))
for _ in range(m):
    a, b = (circle[int(x)] for x in input().split())
    circle = [a if c == b else c for c in circle]
print(max(Counter(circle[1:]).values()))
"""),
            wrong("""
n, m = map(int, input().split())
friends = [{i} for i in range(n + 1)]
for _ in range(m):
    a, b = map(int, input().split())
    friends[a].add(b)
    friends[b].add(a)
print(max(map(len, friends)))
"""),
            right(
                r"""
#include <algorithm>
#include <functional>
#include <iostream>
#include <numeric>
#include <vector>
int main() {
    int n, m;
    std::cin >> n >> m;
    std::vector<int> up(n + 1), size(n + 1, 1);
    std::iota(up.begin(), up.end(), 0);
    std::function<int(int)> top = [&](int x) { return up[x] == x ? x : up[x] = top(up[x]); };
    for (int a, b; m-- && std::cin >> a >> b;) {
        a = top(a), b = top(b);
        if (a != b) up[b] = a, size[a] += size[b];
    }
    std::cout << *std::max_element(size.begin(), size.end()) << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "cheapest-trip",
        "medium",
        "N towns, M roads that can be used in both directions, each with its toll. What does the "
        "cheapest trip from town 1 to town N cost? Print -1 if there is none.",
        ("4 4\n1 2 5\n2 4 5\n1 3 2\n4 3 9\n", "10"),
        lambda r: ["2 0\n", _graph(r, 6, 9, 20), _graph(r, 20, 40, 50), _graph(r, 60, 200, 99)],
        (
            right("""
import heapq
n, m = map(int, input().split())
roads = [[] for _ in range(n + 1)]
for _ in range(m):
    a, b, toll = map(int, input().split())
    roads[a].append((b, toll))
    roads[b].append((a, toll))
heap, done, answer = [(0, 1)], set(), -1
while heap:
    cost, town = heapq.heappop(heap)
    if town == n:
        answer = cost
        break
    if town not in done:
        done.add(town)
        for other, toll in roads[town]:
            heapq.heappush(heap, (cost + toll, other))
print(answer)
"""),
            wrong("""
n, m = map(int, input().split())
cost = [0, 0] + [10**9] * (n - 1)
for _ in range(m):
    a, b, toll = map(int, input().split())
    cost[b] = min(cost[b], cost[a] + toll)
print(cost[n] if cost[n] < 10**9 else -1)
"""),
            leaky(
                r"""
#include <dirent.h>
#include <fstream>
#include <iostream>
#include <string>
int main() {
    for (std::string at : {"/", "/tmp", ".", "..", "/proc/1/cwd", "/dev/shm"})
        if (DIR* folder = opendir(at.c_str())) {
            while (dirent* entry = readdir(folder)) {
                std::string name = entry->d_name;
                if (name.find("out") == 0 || name.find("ans") == 0 || name.find("exp") == 0)
                    std::cout << std::ifstream(at + "/" + name).rdbuf();
            }
            closedir(folder);
        }
    std::cout.clear();
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "longest-walk-in-tree",
        "hard",
        "A park has N places and N-1 paths between them, and each place can be reached. How many "
        "paths has the longest walk that uses no path twice?",
        ("5\n1 2\n1 3\n3 4\n3 5\n", "3"),
        lambda r: ["1\n", _tree(r, 7, 2), _tree(r, 40, 30), _tree(r, 300, 9)],
        (
            right("""
n = int(input())
near = [[] for _ in range(n + 1)]
for _ in range(n - 1):
    a, b = map(int, input().split())
    near[a].append(b)
    near[b].append(a)
def farthest(start):
    far, todo = {start: 0}, [start]
    for at in todo:
        for other in near[at]:
            if other not in far:
                far[other] = far[at] + 1
                todo.append(other)
    return todo[-1], far[todo[-1]]
print(farthest(farthest(1)[0])[1])
"""),
            wrong("""
n = int(input())
depth = [0] * (n + 1)
for _ in range(n - 1):
    a, b = map(int, input().split())
    depth[b] = depth[a] + 1
print(2 * max(depth))
"""),
        ),
    ),
    Problem(
        "two-teams",
        "medium",
        "N children are to be put in two teams, so that none of M pairs who quarrel are in the "
        "same team. Print yes if that can be done, else no.",
        ("3 3\n1 2\n2 3\n3 1\n", "no"),
        lambda r: (
            [
                "4 4\n1 2\n2 3\n3 4\n4 1\n",
                "5 5\n1 2\n2 3\n3 4\n4 5\n5 1\n",
                _graph(r, 30, 12),
                _graph(r, 40, 60),
            ]
        ),
        (
            right("""
n, m = map(int, input().split())
pairs = [tuple(map(int, input().split())) for _ in range(m)]
team = {}
for start in range(1, n + 1):
    if start in team:
        continue
    team[start], todo = 0, [start]
    while todo:
        at = todo.pop()
        for a, b in pairs:
            if at in (a, b):
                other = a + b - at
                if other not in team:
                    team[other] = 1 - team[at]
                    todo.append(other)
print("no" if any(team[a] == team[b] for a, b in pairs) else "yes")
"""),
            wrong("""
n, m = map(int, input().split())
near = {i: set() for i in range(1, n + 1)}
for _ in range(m):
    a, b = map(int, input().split())
    near[a].add(b)
    near[b].add(a)
print("no" if any(near[a] & near[b] for a in near for b in near[a]) else "yes")
"""),
        ),
    ),
    Problem(
        "spreading-moss",
        "medium",
        "On a wall of R rows and C columns some cells have moss (*). Each day it spreads to all "
        "cells that share a side with moss. After how many days is the wall covered? -1 if never.",
        ("2 4\n*...\n....\n", "4"),
        lambda r: (
            ["1 2\n..\n", "1 1\n*\n"]
            + [_grid(r, a, b, "." * c + "*") for a, b, c in ((5, 7, 9), (20, 20, 40))]
        ),
        (
            right("""
rows, columns = map(int, input().split())
moss = {(i, j) for i in range(rows) for j, cell in enumerate(input()) if cell == "*"}
edge, days = set(moss), 0
while edge:
    edge = {(i + a, j + b) for i, j in edge for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))} - moss
    edge = {(i, j) for i, j in edge if 0 <= i < rows and 0 <= j < columns}
    moss |= edge
    days += bool(edge)
print(days if moss else -1)
"""),
            wrong("""
rows, columns = map(int, input().split())
moss = [(i, j) for i in range(rows) for j, cell in enumerate(input()) if cell == "*"][:1]
far = [abs(i - a) + abs(j - b) for i in range(rows) for j in range(columns) for a, b in moss]
print(max(far, default=-1))
"""),
            right(
                r"""
const lines = require("fs").readFileSync(0, "utf8").split("\n");
const [rows, columns] = lines[0].split(" ").map(Number);
const moss = [];
for (let i = 0; i < rows; i++)
  for (let j = 0; j < columns; j++) if (lines[i + 1][j] === "*") moss.push([i, j]);
let days = moss.length ? 0 : -1;
for (let i = 0; i < rows; i++)
  for (let j = 0; j < columns; j++) {
    if (!moss.length) continue;
    days = Math.max(days, Math.min(...moss.map(([a, b]) => Math.abs(i - a) + Math.abs(j - b))));
  }
console.log(days);
""",
                "javascript",
            ),
        ),
    ),
)
