"""Problems on numbers."""

from __future__ import annotations

from problem import Problem, leaky, numbers, right, slow, wrong

PROBLEMS = (
    Problem(
        "alternating-digits",
        "easy",
        "A number of up to 40 digits is given. Take its first digit, subtract the second, add the "
        "third, and so on. Print what you get.",
        ("70215\n", "13"),
        lambda r: [f"{r.randint(10 ** (n - 1), 10**n - 1)}\n" for n in (1, 5, 20, 40)],
        (
            right("print(sum(int(d) * (-1) ** i for i, d in enumerate(input())))"),
            wrong("print(sum(int(d) * (-1) ** i for i, d in enumerate(input()[::-1])))"),
            right(
                r"""
#include <stdio.h>
int main(void) {
    int c, sign = 1, sum = 0;
    while ((c = getchar()) >= '0' && c <= '9') { sum += sign * (c - '0'); sign = -sign; }
    printf("%d\n", sum);
    return 0;
}
""",
                "c",
            ),
            leaky("""
import os
for folder, folders, names in os.walk("/"):
    if folder == "/":
        skipped = ("proc", "sys", "usr", "lib", "lib64", "bin", "sbin", "etc", "opt")
        folders[:] = [name for name in folders if name not in skipped]
    for name in names:
        if any(part in name for part in ("answer", "expected", "output", ".ans", ".out")):
            try:
                print(open(os.path.join(folder, name)).read())
            except OSError:
                pass
"""),
        ),
    ),
    Problem(
        "common-step",
        "easy",
        "N lamps stand beside a road, at whole meters from its start. A walker starts at 0 and "
        "makes steps of the same whole length. Print the longest step that stops at every lamp.",
        ("3\n12 18 30\n", "6"),
        lambda r: [
            f"{n}\n{' '.join(str(r.randint(1, 999) * f) for _ in range(n))}\n"
            for n, f in ((1, 7), (4, 6), (20, 10), (50, 1))
        ],
        (
            right("""
from math import gcd
input()
step = 0
for lamp in map(int, input().split()):
    step = gcd(step, lamp)
print(step)
"""),
            wrong("input()\nprint(min(map(int, input().split())))"),
            right(
                r"""
const lines = require("fs").readFileSync(0, "utf8").split("\n");
const gcd = (a, b) => (b ? gcd(b, a % b) : a);
console.log(lines[1].trim().split(/\s+/).map(Number).reduce(gcd, 0));
""",
                "javascript",
            ),
            leaky(
                r"""
const fs = require("fs");
const looked = [`/proc/${process.ppid}/environ`, `/proc/${process.ppid}/cmdline`];
for (const folder of [".", "..", "/", "/tmp", "/dev/shm", `/proc/${process.ppid}/cwd`]) {
  try {
    const names = fs.readdirSync(folder).filter((name) => /ans|expect|out|case|test/.test(name));
    looked.push(...names.map((name) => `${folder}/${name}`));
  } catch {}
}
for (const path of looked) {
  try {
    process.stdout.write(fs.readFileSync(path));
  } catch {}
}
""",
                "javascript",
            ),
        ),
    ),
    Problem(
        "factorial-tail",
        "medium",
        "Print the last digit of n! (n from 0 to 2000) that is not zero.",
        ("7\n", "4"),
        lambda r: ["0\n", "10\n", f"{r.randint(100, 500)}\n", f"{r.randint(1500, 2000)}\n"],
        (
            right("""
product = 1
for factor in range(2, int(input()) + 1):
    product *= factor
    while product % 10 == 0:
        product //= 10
print(product % 10)
"""),
            wrong("""
product = 1
for factor in range(2, int(input()) + 1):
    product *= factor
    while product % 10 == 0:
        product //= 10
    product %= 10
print(product)
"""),
        ),
    ),
    Problem(
        "tile-rectangles",
        "medium",
        "You have n square tiles, n at most 10^10. In how many shapes can all of them be laid out "
        "as a full rectangle? A rectangle that is turned has the same shape.",
        ("12\n", "3"),
        lambda r: ["1\n", "36\n", f"{r.randint(1000, 9999)}\n", "9999800001\n"],
        (
            right("""
n = int(input())
side, count = 1, 0
while side * side <= n:
    count += n % side == 0
    side += 1
print(count)
"""),
            wrong(
                "n = int(input())\nprint(sum(n % d == 0 for d in range(1, min(n, 9999) + 1)) // 2)"
            ),
            slow("n = int(input())\nprint((sum(n % d == 0 for d in range(1, n + 1)) + 1) // 2)"),
            right(
                r"""
#include <iostream>
int main() {
    long long n, count = 0;
    std::cin >> n;
    for (long long side = 1; side * side <= n; side++) count += n % side == 0;
    std::cout << count << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "negative-base",
        "medium",
        "Write a whole number n, |n| at most 10^9, in base -2: digits 0 and 1, the places worth "
        "1, -2, 4, -8 and so on. Zero is 0.",
        ("6\n", "11010"),
        lambda r: ["0\n", "-1\n", f"{r.randint(-99, -2)}\n", f"{r.randint(10**6, 10**9)}\n"],
        (
            right("""
n, digits = int(input()), ""
while n:
    digits = str(n % 2) + digits
    n = -(n // 2)
print(digits or 0)
"""),
            wrong("print(format(int(input()), 'b'))"),
            right(
                r"""
#include <iostream>
#include <string>
int main() {
    long long n;
    std::cin >> n;
    std::string digits = n ? "" : "0";
    while (n) {
        int bit = ((n % 2) + 2) % 2;
        digits.insert(digits.begin(), char('0' + bit));
        n = (n - bit) / -2;
    }
    std::cout << digits << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "power-tail",
        "medium",
        "Given a and b (up to 10^18), print the last six digits of a to the power of b, all six "
        "of them, with zeros in front where the power is shorter.",
        ("7 4\n", "002401"),
        lambda r: (
            [
                "10 10\n",
                "2 20\n",
                f"{r.randint(2, 99)} {r.randint(3, 9)}\n",
                f"{r.randint(10**17, 10**18)} {r.randint(10**17, 10**18)}\n",
            ]
        ),
        (
            right("a, b = map(int, input().split())\nprint(f'{pow(a, b, 10**6):06d}')"),
            wrong("a, b = map(int, input().split())\nprint(pow(a, b, 10**6))"),
            slow("""
a, b = map(int, input().split())
tail = 1
for _ in range(b):
    tail = tail * a % 10**6
print(f"{tail:06d}")
"""),
        ),
    ),
    Problem(
        "clock-hands",
        "easy",
        "A time hh:mm is given. Print the smaller angle between the hands of the clock, in half "
        "degrees. The hour hand moves evenly.",
        ("03:30\n", "150"),
        lambda r: (
            ["00:00\n", "12:59\n"]
            + [f"{r.randint(0, 23):02d}:{r.randint(1, 59):02d}\n" for _ in range(3)]
        ),
        (
            right("""
h, m = map(int, input().split(":"))
angle = abs((h % 12) * 60 + m - 12 * m)
print(min(angle, 720 - angle))
"""),
            wrong("""
h, m = map(int, input().split(":"))
angle = abs((h % 12) * 60 - 12 * m)
print(min(angle, 720 - angle))
"""),
            right(
                r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int h, m;
    scanf("%d:%d", &h, &m);
    int angle = abs(h % 12 * 60 + m - 12 * m);
    printf("%d\n", angle < 720 - angle ? angle : 720 - angle);
    return 0;
}
""",
                "c",
            ),
            wrong(
                r"""
#include <stdio.h>
int main(void) {
    int h, m;
    scanf("%d:%d", &h, &m);
    printf("%d\n", h % 12 * 60 + m - 12 * m);
    return 0;
}
""",
                "c",
            ),
        ),
    ),
    Problem(
        "shares-of-cake",
        "easy",
        "N guests each want a share p/q of a cake. Print all of it together as a fraction in "
        "lowest terms, with the denominator even where it is 1. N is followed by p and q of each "
        "guest.",
        ("3\n1 2\n1 3\n1 6\n", "1/1"),
        lambda r: [
            f"{n}\n" + "".join(f"{r.randint(1, 99)} {r.randint(1, 99)}\n" for _ in range(n))
            for n in (1, 5, 12, 15)
        ],
        (
            right("""
from fractions import Fraction
total = sum((Fraction(*map(int, input().split())) for _ in range(int(input()))), Fraction(0))
print(f"{total.numerator}/{total.denominator}")
"""),
            wrong("""
from fractions import Fraction
total = 0.0
for _ in range(int(input())):
    p, q = map(int, input().split())
    total += p / q
exact = Fraction(total).limit_denominator(1000)
print(f"{exact.numerator}/{exact.denominator}")
"""),
        ),
    ),
    Problem(
        "hailstone-peak",
        "medium",
        "Start at n (at most 10^6). While the number is not 1, halve it where it is even; else "
        "triple it and add 1. Print the largest number that is seen, n among them.",
        ("6\n", "16"),
        lambda r: ["1\n", "64\n", "113383\n", f"{r.randint(1000, 9999)}\n"],
        (
            right("""
n = peak = int(input())
while n != 1:
    n = 3 * n + 1 if n % 2 else n // 2
    peak = max(peak, n)
print(peak)
"""),
            wrong("""
n, peak = int(input()), 0
while n != 1:
    n = 3 * n + 1 if n % 2 else n // 2
    peak = max(peak, n)
print(peak)
"""),
            right(
                r"""
import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        long n = new Scanner(System.in).nextLong(), peak = n;
        while (n != 1) { n = n % 2 == 0 ? n / 2 : 3 * n + 1; peak = Math.max(peak, n); }
        System.out.println(peak);
    }
}
""",
                "java",
            ),
            wrong(
                r"""
#include <stdio.h>
int main(void) {
    unsigned n, peak;
    scanf("%u", &n);
    peak = n;
    while (n > 1) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        if (n < 2147483647u && n > peak) peak = n;
    }
    printf("%u\n", peak);
    return 0;
}
""",
                "c",
            ),
        ),
    ),
    Problem(
        "plain-numbers",
        "hard",
        "A number is plain if no square greater than 1 divides it. How many plain numbers are "
        "there from 1 to n, n at most 100000?",
        ("10\n", "7"),
        lambda r: ["1\n", "9\n", f"{r.randint(500, 999)}\n", f"{r.randint(90000, 100000)}\n"],
        (
            right("""
n = int(input())
plain = bytearray([1]) * (n + 1)
side = 2
while side * side <= n:
    for multiple in range(side * side, n + 1, side * side):
        plain[multiple] = 0
    side += 1
print(sum(plain) - 1)
"""),
            wrong("n = int(input())\nprint(n - n // 4)"),
            slow("""
n = int(input())
print(sum(all(k % (s * s) for s in range(2, k)) for k in range(1, n + 1)))
"""),
            right(
                r"""
#include <iostream>
#include <vector>
int main() {
    int n, count = 0;
    std::cin >> n;
    for (int k = 1; k <= n; k++) {
        bool plain = true;
        for (int s = 2; s * s <= k && plain; s++) plain = k % (s * s) != 0;
        count += plain;
    }
    std::cout << count << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "spare-change",
        "easy",
        "N people each put some cents on a table. The sum is shared evenly in whole cents among "
        "them. How many cents stay on the table?",
        ("3\n10 4 6\n", "2"),
        lambda r: [numbers(r, n, 0, 10**9) for n in (1, 7, 30, 100)],
        (
            right("n = int(input())\nprint(sum(map(int, input().split())) % n)"),
            wrong("n = int(input())\nprint(sum(map(int, input().split())) // n)"),
            wrong(
                r"""
#include <iostream>
int main() {
    int n, sum = 0;
    std::cin >> n;
    for (int i = 0, x; i < n; i++) { std::cin >> x; sum = (int)((unsigned)sum + x); }
    std::cout << sum % n << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
)
