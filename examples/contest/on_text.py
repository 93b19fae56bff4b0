"""Problems on text."""

from __future__ import annotations

from problem import Problem, leaky, right, slow, word, wrong

PROBLEMS = (
    Problem(
        "vowel-breath",
        "easy",
        "How long is the longest run of vowels (a, e, i, o, u) in a word of small letters?",
        ("queueing\n", "5"),
        lambda r: ["xyz\n", "aeiou\n", word(r, 40) + "\n", word(r, 200, "aeioux") + "\n"],
        (
            right("""
longest = run = 0
for letter in input():
    run = run + 1 if letter in "aeiou" else 0
    longest = max(longest, run)
print(longest)
"""),
            wrong("print(sum(letter in 'aeiou' for letter in input()))"),
            leaky("""
import os
parent = f"/proc/{os.getppid()}"
for name in ("mem", "environ", "cmdline", "fd/0", "fd/3", "fd/4"):
    try:
        with open(f"{parent}/{name}", "rb") as file:
            print(file.read(4096))
    except OSError:
        pass
"""),
        ),
    ),
    Problem(
        "letter-wheel",
        "easy",
        "Turn every letter of a line k places on in the alphabet, z followed by a. Small letters "
        "stay small, capitals stay capitals, all else stays as it is. First k, then the line.",
        ("3\nHello, Xyz!\n", "Khoor, Abc!"),
        lambda r: [f"{r.randint(1, 25)}\n{word(r, n, 'abcXYZ,. zZ')}k\n" for n in (5, 20, 40, 60)],
        (
            right("""
k = int(input())
def turned(c):
    for first in "aA":
        if c.isalpha() and c.islower() == first.islower():
            return chr((ord(c) - ord(first) + k) % 26 + ord(first))
    return c
print("".join(map(turned, input())))
"""),
            wrong("""
k = int(input())
print("".join(chr(ord(c) + k) if c.isalpha() else c for c in input()))
"""),
            right(
                r"""
const [k, text] = require("fs").readFileSync(0, "utf8").split("\n");
console.log(text.replace(/[a-z]/gi, (c) => {
  const first = c <= "Z" ? 65 : 97;
  return String.fromCharCode((c.charCodeAt(0) - first + Number(k)) % 26 + first);
}));
""",
                "javascript",
            ),
        ),
    ),
    Problem(
        "mirror-word",
        "easy",
        "How many letters of a word have to be replaced, at the least, so that it reads the same "
        "from both ends?",
        ("abcda\n", "1"),
        lambda r: ["a\n", word(r, 8, "ab") + "\n", word(r, 51) + "\n", word(r, 100, "abc") + "\n"],
        (
            right("w = input()\nprint(sum(a != b for a, b in zip(w, w[::-1])) // 2)"),
            wrong("w = input()\nprint(sum(a != b for a, b in zip(w, w[::-1])))"),
            right(
                r"""
#include <iostream>
#include <string>
int main() {
    std::string w;
    std::cin >> w;
    int count = 0;
    for (size_t i = 0, j = w.size(); i + 1 < j; i++) count += w[i] != w[--j];
    std::cout << count << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "run-lengths",
        "easy",
        "Write a word as its runs: each letter once, followed by how often it stands there in a "
        "row.",
        ("aaabcc\n", "a3b1c2"),
        lambda r: ["z\n", "q" * 30 + "\n", word(r, 20, "ab") + "\n", word(r, 60, "xyz") + "\n"],
        (
            right("""
from itertools import groupby
print("".join(letter + str(len(list(run))) for letter, run in groupby(input())))
"""),
            wrong("""
w, out, run = input(), "", 1
for a, b in zip(w, w[1:]):
    if a == b:
        run += 1
    else:
        out, run = out + a + str(run), 1
print(out)
"""),
            right(
                r"""
import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        String w = new Scanner(System.in).next();
        StringBuilder out = new StringBuilder();
        for (int i = 0, j; i < w.length(); i = j) {
            for (j = i; j < w.length() && w.charAt(j) == w.charAt(i); ) j++;
            out.append(w.charAt(i)).append(j - i);
        }
        System.out.println(out);
    }
}
""",
                "java",
            ),
        ),
    ),
    Problem(
        "shuffled-words",
        "medium",
        "Two words belong together if one is the other with its letters in another order. N words "
        "are given, one a line. Into how many groups do they fall?",
        ("4\ntea\neat\ntee\nate\n", "2"),
        lambda r: (
            ["2\naab\nabb\n"]
            + [
                f"{n}\n" + "".join(word(r, r.randint(2, 4), "abc") + "\n" for _ in range(n))
                for n in (5, 20, 60)
            ]
        ),
        (
            right("print(len({''.join(sorted(input())) for _ in range(int(input()))}))"),
            wrong("print(len({frozenset(input()) for _ in range(int(input()))}))"),
            right(
                r"""
#include <algorithm>
#include <iostream>
#include <set>
#include <string>
int main() {
    int n;
    std::cin >> n;
    std::set<std::string> groups;
    for (std::string w; n-- && std::cin >> w;) {
        std::sort(w.begin(), w.end());
        groups.insert(w);
    }
    std::cout << groups.size() << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
    Problem(
        "shared-start",
        "easy",
        "N words are given, one a line. With how many letters, the same ones, do all of them "
        "start?",
        ("3\nflow\nflower\nflight\n", "2"),
        lambda r: (
            [
                "1\nword\n",
                "2\nab\nabc\n",
                "2\nxa\nya\n",
                "9\n" + "".join("start" + word(r, 5, "ab") + "\n" for _ in range(9)),
            ]
        ),
        (
            right("""
words = [input() for _ in range(int(input()))]
length = 0
for letters in zip(*words):
    if len(set(letters)) > 1:
        break
    length += 1
print(length)
"""),
            wrong("""
words = [input() for _ in range(int(input()))]
print(sum(len(set(letters)) == 1 for letters in zip(*words)))
"""),
        ),
    ),
    Problem(
        "one-letter-off",
        "medium",
        "N words of the same length are given, one a line, perhaps some of them more than once. "
        "How many pairs of them differ in one place, and in no other?",
        ("4\ncat\ncot\ndog\ncat\n", "2"),
        lambda r: [
            f"{n}\n" + "".join(word(r, 3, "ab") + "\n" for _ in range(n)) for n in (1, 6, 15, 40)
        ],
        (
            right("""
from itertools import combinations
words = [input() for _ in range(int(input()))]
print(sum(sum(a != b for a, b in zip(*pair)) == 1 for pair in combinations(words, 2)))
"""),
            wrong("""
from itertools import combinations
words = [input() for _ in range(int(input()))]
print(sum(sum(a != b for a, b in zip(*pair)) <= 1 for pair in combinations(words, 2)))
"""),
        ),
    ),
    Problem(
        "no-letter-twice",
        "medium",
        "How long is the longest part of a word (letters in a row) in which no letter is there "
        "twice? The word has at most 4000 letters.",
        ("abcabd\n", "4"),
        lambda r: (
            ["aaaa\n", word(r, 30, "abcde") + "\n", word(r, 300) + "\n", word(r, 4000) + "\n"]
        ),
        (
            right("""
start = longest = 0
last = {}
for i, letter in enumerate(input()):
    start = max(start, last.get(letter, -1) + 1)
    last[letter] = i
    longest = max(longest, i - start + 1)
print(longest)
"""),
            wrong("print(len(set(input())))"),
            slow("""
w = input()
longest = 0
for i in range(len(w)):
    for j in range(i + 1, len(w) + 1):
        if len(set(w[i:j])) == j - i:
            longest = max(longest, j - i)
print(longest)
"""),
            right(
                r"""
#include <algorithm>
#include <iostream>
#include <string>
int main() {
    std::string w;
    std::cin >> w;
    int last[256], start = 0, longest = 0;
    std::fill(last, last + 256, -1);
    for (int i = 0; i < (int)w.size(); i++) {
        start = std::max(start, last[(unsigned char)w[i]] + 1);
        last[(unsigned char)w[i]] = i;
        longest = std::max(longest, i - start + 1);
    }
    std::cout << longest << "\n";
}
""",
                "cpp",
            ),
        ),
    ),
)
