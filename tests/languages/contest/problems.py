"""Six small problems: the inputs, the same each time, and a reference for each.

A reference is written for being plainly right, in another way than the solutions are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from verifier.testcases import load_suite
from verifier.types import Suite


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem.

    Attributes:
        answer: The reference: an input's output.
        inputs: Its cases, made with a generator that is seeded with the problem's name.
        cpu_time_s: Limit of a case.
    """

    answer: Callable[[str], str]
    inputs: Callable[[Random], list[str]]
    cpu_time_s: float = 4.0

    def suite(self, name: str) -> Suite:
        """What the solutions are scored by."""
        inputs = self.inputs(Random(name))
        return load_suite({"inputs": inputs, "outputs": [self.answer(text) for text in inputs]})


def _range_sums(text: str) -> str:
    _, line, *queries = text.splitlines()
    values = [int(word) for word in line.split()]
    ends = [[int(word) for word in query.split()] for query in queries]
    return "".join(f"{sum(values[left - 1 : right])}\n" for left, right in ends)


def _range_inputs(random: Random) -> list[str]:
    def made(values: list[int], queries: list[tuple[int, int]]) -> str:
        lines = [f"{len(values)} {len(queries)}", " ".join(map(str, values))]
        return "\n".join([*lines, *(f"{left} {right}" for left, right in queries)]) + "\n"

    def drawn(n: int, q: int) -> str:
        values = [random.randrange(1, 10**9) for _ in range(n)]
        ends = [sorted((random.randint(1, n), random.randint(1, n))) for _ in range(q)]
        return made(values, [(left, right) for left, right in ends])

    zeros = made([0] * 5, [(1, 5), (3, 3), (5, 5)])
    return [made([3, 1, 4, 1, 5], [(1, 5), (2, 4), (3, 3)]), zeros, drawn(100, 50), drawn(900, 900)]


def _grid(text: str) -> str:
    """Distances that are made shorter until none can be."""
    rows = text.splitlines()[1:]
    free = {(y, x): cell for y, row in enumerate(rows) for x, cell in enumerate(row) if cell != "#"}
    steps = {place: 0 if cell == "S" else len(free) for place, cell in free.items()}
    changed = True
    while changed:
        changed = False
        for (y, x), near in itertools.product(steps, ((-1, 0), (1, 0), (0, -1), (0, 1))):
            other = steps.get((y + near[0], x + near[1]), len(free)) + 1
            if other < steps[y, x]:
                steps[y, x], changed = other, True
    (found,) = (steps[place] for place, cell in free.items() if cell == "E")
    return f"{found if found < len(free) else -1}\n"


def _grid_inputs(random: Random) -> list[str]:
    def made(rows: list[str]) -> str:
        return "\n".join([f"{len(rows)} {len(rows[0])}", *rows]) + "\n"

    # Walls at random between two free lines, which are joined at their far end.
    rows = ["S" + "." * 19]
    rows += ["".join(random.choice(".#") for _ in range(19)) + "." for _ in range(18)]
    rows += ["E" + "." * 19]
    return [
        made(["S..", ".#.", "..E"]),
        made(["S.#E", "..#.", "..#."]),
        made(["SE"]),
        made(rows),
    ]


def _knapsack(text: str) -> str:
    """The best of what can be reached, as a set of pairs."""
    (_, capacity), *things = ([int(word) for word in line.split()] for line in text.splitlines())
    reached = {0: 0}
    for weight, value in things:
        for full, worth in list(reached.items()):
            if full + weight <= capacity:
                reached[full + weight] = max(reached.get(full + weight, 0), worth + value)
    return f"{max(reached.values())}\n"


def _knapsack_inputs(random: Random) -> list[str]:
    def made(capacity: int, things: list[tuple[int, int]]) -> str:
        lines = [f"{len(things)} {capacity}", *(f"{w} {v}" for w, v in things)]
        return "\n".join(lines) + "\n"

    drawn = [(random.randint(1, 30), random.randint(1, 100)) for _ in range(30)]
    return [
        made(10, [(2, 7), (5, 9), (6, 4)]),
        made(0, [(1, 1), (2, 5)]),
        made(10, [(6, 3), (7, 8)]),
        made(200, drawn),
    ]


def _words(text: str) -> str:
    letters = "".join(c if c.isalpha() else " " for c in text.lower()).split()
    counted = sorted((-letters.count(word), word) for word in set(letters))
    return "".join(f"{word} {-count}\n" for count, word in counted[:5]) or "none\n"


def _words_inputs(random: Random) -> list[str]:
    def word() -> str:
        made = "".join(random.choice("abc") for _ in range(random.randint(1, 3)))
        return random.choice((made, made.upper(), made.title()))

    drawn = [word() + random.choice((" ", ", ", "-", "\n", "1")) for _ in range(2000)]
    return [
        "The cat and the dog, and THE bird!\n",
        "12 + 34 = 46.\n",
        "one two two three three three\n",
        "".join(drawn) + "\n",
    ]


def _power(text: str) -> str:
    base, exponent, modulus = map(int, text.split())
    return f"{pow(base, exponent, modulus)}\n"


def _power_inputs(random: Random) -> list[str]:
    prime = 2**31 - 1
    no_zeros = "".join(random.choice("123456789") for _ in range(1000))
    return [
        "3 4 1000\n",
        "2 10 1000000007\n",
        f"{random.randrange(2, prime)} {no_zeros} {prime}\n",
        f"{random.randrange(2, prime)} {random.randrange(10**999, 10**1000)} {prime}\n",
        "7 30 1\n",
    ]


def _sorting(text: str) -> str:
    return "".join(f"{number}\n" for number in sorted(map(int, text.split()[1:])))


def _sorting_inputs(random: Random) -> list[str]:
    def made(numbers: list[int]) -> str:
        return f"{len(numbers)}\n{' '.join(map(str, numbers))}\n"

    return [
        made([10, -3, 9, 100, -20, 0]),
        made([7]),
        made([random.randint(-(10**9), 10**9) for _ in range(100_000)]),
        made(random.sample(range(100, 1000), 50)),
    ]


PROBLEMS = {
    "range_sums": Problem(_range_sums, _range_inputs),
    "grid": Problem(_grid, _grid_inputs),
    # The one where a program never ends: short, as each language waits for it.
    "knapsack": Problem(_knapsack, _knapsack_inputs, cpu_time_s=1.5),
    "words": Problem(_words, _words_inputs),
    "power": Problem(_power, _power_inputs),
    "sorting": Problem(_sorting, _sorting_inputs),
}
