"""Problems on lists of numbers."""

from __future__ import annotations

from random import Random

from problem import Problem, leaky, numbers, right, slow, wrong


def _spans(random: Random, count: int, longest: int) -> str:
    """A count, and as many lines of start and end."""
    starts = [random.randint(0, 100) for _ in range(count)]
    return f"{count}\n" + "".join(f"{s} {s + random.randint(1, longest)}\n" for s in starts)


def _windows(random: Random, count: int, width: int) -> str:
    """A count and a width, and a line of numbers."""
    return f"{count} {width}\n{' '.join(str(random.randint(-9, 9)) for _ in range(count))}\n"


PROBLEMS = (
    Problem(
        "widest-gap",
        "easy",
        "N posts stand on a line (N at least 2), their places are given in any order. How far "
        "apart are the two neighbors that are the farthest apart?",
        ("4\n9 1 4 3\n", "5"),
        lambda r: ["2\n5 5\n", *(numbers(r, n, 0, 1000) for n in (6, 25, 80))],
        (
            right("""
input()
posts = sorted(map(int, input().split()))
print(max(b - a for a, b in zip(posts, posts[1:])))
"""),
            wrong("""
input()
posts = list(map(int, input().split()))
print(max(abs(b - a) for a, b in zip(posts, posts[1:])))
"""),
            right(
                r"""
const posts = require("fs").readFileSync(0, "utf8").split("\n")[1].trim().split(/\s+/).map(Number);
posts.sort((a, b) => a - b);
let widest = 0;
for (let i = 1; i < posts.length; i++) widest = Math.max(widest, posts[i] - posts[i - 1]);
console.log(widest);
""",
                "javascript",
            ),
            wrong(
                r"""
const posts = require("fs").readFileSync(0, "utf8").split("\n")[1].trim().split(/\s+/);
posts.sort();
let widest = 0;
for (let i = 1; i < posts.length; i++) widest = Math.max(widest, posts[i] - posts[i - 1]);
console.log(widest);
""",
                "javascript",
            ),
        ),
    ),
    Problem(
        "even-cuts",
        "easy",
        "In how many places can a list of N numbers be cut in two parts, neither of them empty, "
        "that have the same sum?",
        ("5\n1 0 -1 0 0\n", "2"),
        lambda r: ["1\n0\n", "4\n0 0 0 0\n", numbers(r, 30, -1, 1), numbers(r, 100, -1, 1)],
        (
            right("""
input()
a = list(map(int, input().split()))
print(sum(2 * sum(a[:i]) == sum(a) for i in range(1, len(a))))
"""),
            wrong("""
input()
a = list(map(int, input().split()))
print(sum(2 * sum(a[:i]) == sum(a) for i in range(len(a) + 1)))
"""),
            leaky("""
import gc, sys
for frame in (sys._getframe(),):
    while frame:
        print({**frame.f_globals, **frame.f_locals}.get("expected", ""))
        frame = frame.f_back
for thing in gc.get_objects():
    if isinstance(thing, dict) and "outputs" in thing:
        print(thing["outputs"])
"""),
        ),
    ),
    Problem(
        "pair-sums",
        "medium",
        "All pairs are taken of N numbers at different places, and their sums sorted. Print the "
        "K-th of the sums. N and K come first; K is at most the number of pairs.",
        ("3 2\n5 1 3\n", "6"),
        lambda r: ["2 1\n4 4\n", _windows(r, 5, 7), _windows(r, 12, 50), _windows(r, 40, 300)],
        (
            right("""
from itertools import combinations
n, k = map(int, input().split())
print(sorted(map(sum, combinations(map(int, input().split()), 2)))[k - 1])
"""),
            wrong("""
from itertools import combinations_with_replacement
n, k = map(int, input().split())
print(sorted(map(sum, combinations_with_replacement(map(int, input().split()), 2)))[k - 1])
"""),
            right(
                r"""
#include <algorithm>
#include <iostream>
#include <vector>
int main() {
    int n, k;
    std::cin >> n >> k;
    std::vector<int> a(n), sums;
    for (auto& x : a) std::cin >> x;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) sums.push_back(a[i] + a[j]);
    std::nth_element(sums.begin(), sums.begin() + k - 1, sums.end());
    std::cout << sums[k - 1] << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "best-days",
        "medium",
        "N days bring a gain or a loss each. You play on exactly K days in a row. Print the most "
        "that you can gain. N and K come first, N at most 20000.",
        ("5 2\n-3 4 2 -9 8\n", "6"),
        lambda r: ["1 1\n-4\n", _windows(r, 20, 20), _windows(r, 90, 7), _windows(r, 20000, 9000)],
        (
            right("""
n, k = map(int, input().split())
a = list(map(int, input().split()))
now = best = sum(a[:k])
for i in range(k, n):
    now += a[i] - a[i - k]
    best = max(best, now)
print(best)
"""),
            wrong("""
n, k = map(int, input().split())
a = list(map(int, input().split()))
now = best = 0
for i in range(n):
    now += a[i] - (a[i - k] if i >= k else 0)
    best = max(best, now)
print(best)
"""),
            slow("""
n, k = map(int, input().split())
a = list(map(int, input().split()))
best = None
for i in range(n - k + 1):
    total = 0
    for j in range(i, i + k):
        total += a[j]
    best = total if best is None else max(best, total)
print(best)
"""),
        ),
    ),
    Problem(
        "overtakings",
        "hard",
        "N runners are given by their start numbers in the order in which they arrive; they left "
        "in the order of these numbers. How many pairs arrive in the other order than they left?",
        ("4\n3 1 4 2\n", "3"),
        lambda r: (
            ["1\n1\n"]
            + [f"{n}\n{' '.join(map(str, r.sample(range(1, n + 1), n)))}\n" for n in (8, 60, 6000)]
        ),
        (
            right("""
from bisect import bisect, insort
input()
seen, count = [], 0
for runner in map(int, input().split()):
    count += len(seen) - bisect(seen, runner)
    insort(seen, runner)
print(count)
"""),
            wrong("""
input()
a = list(map(int, input().split()))
print(sum(x > y for x, y in zip(a, a[1:])))
"""),
            slow("""
input()
a, count = list(map(int, input().split())), 0
for end in range(len(a)):
    for i in range(len(a) - 1):
        if a[i] > a[i + 1]:
            a[i], a[i + 1] = a[i + 1], a[i]
            count += 1
print(count)
"""),
            right(
                r"""
#include <iostream>
#include <vector>
int main() {
    int n;
    std::cin >> n;
    std::vector<int> a(n);
    long long count = 0;
    for (int i = 0; i < n; i++) {
        std::cin >> a[i];
        for (int j = 0; j < i; j++) count += a[j] > a[i];
    }
    std::cout << count << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "shaded-road",
        "medium",
        "N trees shade a road, each from one meter mark to another. How many meters are in the "
        "shade of some tree?",
        ("3\n1 4\n3 6\n8 9\n", "6"),
        lambda r: ["1\n0 1\n", _spans(r, 4, 60), _spans(r, 10, 15), _spans(r, 60, 4)],
        (
            right("""
spans = sorted(tuple(map(int, input().split())) for _ in range(int(input())))
total = reach = 0
for start, end in spans:
    total += max(0, end - max(start, reach))
    reach = max(reach, end)
print(total)
"""),
            wrong("""
spans = sorted(tuple(map(int, input().split())) for _ in range(int(input())))
print(sum(end - start for start, end in spans))
"""),
            right(
                r"""
import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        boolean[] shade = new boolean[1000];
        for (int n = in.nextInt(); n > 0; n--)
            for (int i = in.nextInt(), end = in.nextInt(); i < end; i++) shade[i] = true;
        int count = 0;
        for (boolean dark : shade) if (dark) count++;
        System.out.println(count);
    }
}
""",
                "java",
            ),
            leaky(
                r"""
import java.io.IOException;
import java.nio.file.*;
public class Main {
    public static void main(String[] args) {
        System.out.println(System.getenv());
        for (String at : new String[] {".", "..", "/", "/tmp", "/dev/shm"})
            try (DirectoryStream<Path> found = Files.newDirectoryStream(Path.of(at), "*ans*")) {
                for (Path path : found) System.out.write(Files.readAllBytes(path));
            } catch (IOException | DirectoryIteratorException error) {
                continue;
            }
        System.out.flush();
    }
}
""",
                "java",
            ),
        ),
    ),
    Problem(
        "last-in-circle",
        "medium",
        "N children stand in a circle, numbered from 1. Counting from child 1, every K-th that is "
        "left goes away. Who stays last?",
        ("5 2\n", "3"),
        lambda r: ["1 7\n", "6 1\n", f"{r.randint(20, 90)} {r.randint(3, 9)}\n", "1000 1234\n"],
        (
            right("""
n, k = map(int, input().split())
last = 0
for size in range(2, n + 1):
    last = (last + k) % size
print(last + 1)
"""),
            wrong("""
n, k = map(int, input().split())
circle, at = list(range(1, n + 1)), 0
while len(circle) > 1:
    at = (at + k) % len(circle)
    circle.pop(at)
print(circle[0])
"""),
            wrong(
                """
n, k = map(int, input().split())
circle, at = list(range(1, n + 1)), 0
for _ in range(n):
    at = (at + k - 1) % len(circle)
    circle.pop(at)
print(circle[0])
""",
                status="RUNTIME_ERROR",
            ),
            right(
                r"""
#include <iostream>
int main() {
    int n, k, last = 0;
    std::cin >> n >> k;
    for (int size = 2; size <= n; size++) last = (last + k) % size;
    std::cout << last + 1 << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "seen-from-left",
        "easy",
        "Towers stand in a row, with heights of at least 1. From the left, a tower is seen if it "
        "is higher than all that stand before it. How many are seen?",
        ("5\n2 2 5 1 6\n", "3"),
        lambda r: ["1\n1\n", numbers(r, 6, 1, 4), numbers(r, 30, 1, 50), "4\n7 7 7 7\n"],
        (
            right("""
input()
highest = seen = 0
for height in map(int, input().split()):
    if height > highest:
        highest, seen = height, seen + 1
print(seen)
"""),
            wrong("""
input()
highest = seen = 0
for height in map(int, input().split()):
    if height >= highest:
        highest, seen = height, seen + 1
print(seen)
"""),
            right(
                r"""
#include <stdio.h>
int main(void) {
    int n, height, highest = 0, seen = 0;
    scanf("%d", &n);
    while (n-- && scanf("%d", &height) == 1)
        if (height > highest) { highest = height; seen++; }
    printf("%d\n", seen);
    return 0;
}
""",
                "c",
            ),
            wrong("#include <stdio.h>\nint main(void) { return seen; }", "c", "COMPILE_ERROR"),
            leaky(
                r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    char text[4096], path[64];
    for (int fd = 3; fd < 64; fd++) {
        fcntl(fd, F_SETFL, O_NONBLOCK);
        ssize_t size = pread(fd, text, sizeof text, 0);
        if (size > 0) write(1, text, size);
        snprintf(path, sizeof path, "/proc/%d/fd/%d", getppid(), fd);
        int other = open(path, O_RDONLY | O_NONBLOCK);
        if (other >= 0 && (size = read(other, text, sizeof text)) > 0) write(1, text, size);
    }
    return 0;
}
""",
                "c",
            ),
        ),
    ),
    Problem(
        "clear-winner",
        "easy",
        "N votes are given, each the number of a candidate. Print who has more than half of "
        "them, or -1 if nobody has.",
        ("5\n3 1 3 3 2\n", "3"),
        lambda r: ["4\n1 1 2 2\n", "1\n9\n", numbers(r, 21, 1, 3), "7\n" + "4 5 4 5 4 5 4\n"],
        (
            right("""
from collections import Counter
n = int(input())
who, votes = Counter(input().split()).most_common(1)[0]
print(who if 2 * votes > n else -1)
"""),
            wrong("""
from collections import Counter
input()
print(Counter(input().split()).most_common(1)[0][0])
"""),
        ),
    ),
)
