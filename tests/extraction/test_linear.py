"""The work grows no faster than the response: counted in calls, since a test must not read a clock.

What a call costs grows with the text it is given; that is held by the patterns, whose repeats are
bounded or anchored, and by the fuzzer's watch on the time (tests/fuzz).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest

from verifier.extraction import check, choose, extract, scan, tags

if sys.version_info >= (3, 11):
    import re._parser as parser
else:
    import sre_parse as parser

PROGRAM = "x = 1\nprint(x)\n"
# By name: a response of about `n` characters.
RESPONSES: dict[str, Callable[[int], str]] = {
    "backticks": lambda n: "`" * n,
    "tildes": lambda n: "~~~\n" * (n // 4),
    "fences": lambda n: "```\n" * (n // 4),
    "blocks": lambda n: f"```python\n{PROGRAM}```\n" * (n // 30),
    "blocks that do not parse": lambda n: "```python\nx = (\n```\n" * (n // 20),
    "blocks of Markdown": lambda n: f"````markdown\n```py\n{PROGRAM}```\n````\n" * (n // 50),
    "nested fences": lambda n: "".join("`" * k + "python\n" for k in range(3, int((2 * n) ** 0.5))),
    "forgotten closers": lambda n: f"```python\n{PROGRAM}" * (n // 25),
    "glued closers": lambda n: "```python\nx = 1```\n" * (n // 20),
    "fences at the ends of lines": lambda n: "x ```python\n" * (n // 12),
    "opening tags": lambda n: "<think>" * (n // 7),
    "closing tags": lambda n: "</think>\n" * (n // 9),
    "tags in one block": lambda n: "```python\n" + "</think>x" * (n // 9),
    "tags in strings": lambda n: '```python\n"""' + "\n</think>x" * (n // 10),
    "tags without an end": lambda n: "<think " * (n // 7),
    "quotations": lambda n: "> ```python\n> x = 1\n> ```\n" * (n // 25),
    "one long block": lambda n: f"```python\n{PROGRAM * (n // 15)}```\n",
    "code without a fence": lambda n: PROGRAM * (n // 15),
    "special tokens": lambda n: PROGRAM + "<|im_end|>" * (n // 10),
    "info strings": lambda n: "``` python a=b\nx\n```\n" * (n // 20),
}


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, of Python's or of C's."""
    count = 0

    def on_event(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("language", ["python", "cpp", None])
def test_twice_the_text_is_twice_the_work(name: str, language: str | None) -> None:
    small, large = (RESPONSES[name](n) for n in (8_000, 16_000))
    extract(large, language=language)  # what is cached at first use is not counted
    one, two = (
        calls(lambda t=text: extract(t, language=language, entry_point="f"))
        for text in (small, large)
    )
    assert two <= 2.2 * one + 50


PATTERNS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": pattern
    for module in (scan, choose, check, tags)
    for name, value in vars(module).items()
    for pattern in (value.values() if isinstance(value, dict) else [value])
    if isinstance(pattern, re.Pattern)
}


def unbounded(tree: object) -> bool:
    """Some part may repeat without end."""
    for operation, argument in tree:
        if operation in (parser.MAX_REPEAT, parser.MIN_REPEAT):
            if argument[1] is parser.MAXREPEAT or unbounded(argument[2]):
                return True
        elif operation is parser.SUBPATTERN:
            if unbounded(argument[-1]):
                return True
        elif operation is parser.BRANCH and any(map(unbounded, argument[1])):
            return True
    return False


def faults(tree: object, *, first: bool) -> list[str]:
    """Repeats that cost more than linear time: inside of one another, or at every start."""
    found = []
    for operation, argument in tree:
        if operation in (parser.MAX_REPEAT, parser.MIN_REPEAT):
            endless = argument[1] is parser.MAXREPEAT
            if endless and first:
                found.append("begins with a repeat: each start would read to its end")
            if endless and unbounded(argument[2]):
                found.append("an endless repeat in an endless repeat")
            found += faults(argument[2], first=first)
            first = first and argument[0] == 0
        elif operation is parser.SUBPATTERN:
            found += faults(argument[-1], first=first)
            first = False
        elif operation is parser.BRANCH:
            found += [fault for branch in argument[1] for fault in faults(branch, first=first)]
            first = False
        elif operation is not parser.ASSERT_NOT:
            first = False
    return found


def test_patterns_are_known() -> None:
    assert len(PATTERNS) >= 12


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_read_a_character_a_bounded_number_of_times(name: str) -> None:
    """A line's start, or what has to stand before, is not at every character."""
    pattern = PATTERNS[name]
    assert faults(parser.parse(pattern.pattern, pattern.flags), first=True) == []
