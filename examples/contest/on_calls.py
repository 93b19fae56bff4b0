"""Problems that ask for a function, called with arguments."""

from __future__ import annotations

import json

from problem import Problem, leaky, right, slow, word, wrong

PROBLEMS = (
    Problem(
        "turn-the-list",
        "easy",
        "Write a function turned(items, k) that returns the list with its first k items moved to "
        "the end. k may be larger than the list, and the list may be empty.",
        ("[[1, 2, 3, 4], 1]", "[2, 3, 4, 1]"),
        lambda r: (
            ["[[], 3]", "[[5], 7]"]
            + [
                json.dumps([[r.randint(-9, 9) for _ in range(n)], r.randint(0, 30)])
                for n in (5, 20)
            ]
        ),
        (
            right("""
def turned(items, k):
    k = k % len(items) if items else 0
    return items[k:] + items[:k]
"""),
            wrong("""
def turned(items, k):
    return items[k:] + items[:k]
"""),
            leaky("""
class Anything(list):
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = None

def turned(items, k):
    return Anything(["anything"])
"""),
        ),
        fn_name="turned",
    ),
    Problem(
        "flat-nest",
        "medium",
        "Write a function flat(nest) that returns all numbers of a list of numbers and lists, "
        "however deep, in their order.",
        ("[[1, [2, [], [3]], 4]]", "[1, 2, 3, 4]"),
        lambda r: (
            [
                "[[]]",
                "[[[[[7]]]]]",
                json.dumps([[[r.randint(1, 9)], [[r.randint(1, 9)], 5]]]),
                "[[1, [2, [3, [4, [5, [6]]]]], [[[[8]]]]]]",
            ]
        ),
        (
            right("""
def flat(nest):
    return [x for item in nest for x in (flat(item) if isinstance(item, list) else [item])]
"""),
            wrong("""
def flat(nest):
    return [x for item in nest for x in (item if isinstance(item, list) else [item])]
"""),
            leaky("""
import sys

def flat(nest):
    frame = sys._getframe()
    while frame:
        for names in (frame.f_locals, frame.f_globals):
            for key in ("expected", "answer", "outputs", "case", "want"):
                if key in names:
                    found = names[key]
                    return getattr(found, "expected", found)
        frame = frame.f_back
    return None
"""),
        ),
        fn_name="flat",
    ),
    Problem(
        "closed-brackets",
        "easy",
        "Write a function closed(text) that says, as a bool, whether all brackets of a text - "
        "round, square and curly ones - are closed, each by its own kind and in the right order.",
        ('["a[b(c)]{}"]', "true"),
        lambda r: ['[""]', '["(]"]', '["([)]"]', '["(("]', json.dumps(["(" + word(r, 9) + ")"])],
        (
            right("""
def closed(text):
    open_ones = []
    for c in text:
        if c in "([{":
            open_ones.append(")]}"["([{".index(c)])
        elif c in ")]}" and (not open_ones or open_ones.pop() != c):
            return False
    return not open_ones
"""),
            wrong("""
def closed(text):
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))
"""),
        ),
        fn_name="closed",
    ),
    Problem(
        "rabbit-pairs",
        "easy",
        "Write a function pairs(month): in months 1 and 2 there is one pair of rabbits; in each "
        "later month as many as in the two months before it together.",
        ("[7]", "13"),
        lambda r: ["[1]", "[2]", f"[{r.randint(20, 25)}]", "[90]"],
        (
            right("""
def pairs(month):
    a, b = 1, 1
    for _ in range(month - 1):
        a, b = b, a + b
    return a
"""),
            wrong("""
def pairs(month):
    root = 5 ** 0.5
    return int(((1 + root) / 2) ** month / root)
"""),
            slow("""
def pairs(month):
    return 1 if month < 3 else pairs(month - 1) + pairs(month - 2)
"""),
        ),
        fn_name="pairs",
    ),
)
