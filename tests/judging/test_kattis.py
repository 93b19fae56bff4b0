"""Our comparators beside Kattis' default output validator, as `problemtools` installs it."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
from decimal import Decimal
from importlib import resources

import pytest

from verifier.judging import compare
from verifier.types import Comparator

pytest.importorskip("problemtools", reason="pip install problemtools: the judge to compare with")

VALIDATOR = resources.files("problemtools") / "support" / "default_validator"
FLAGS = {
    "kattis": (),
    "kattis-case": ("case_sensitive",),
    "kattis-space": ("space_change_sensitive",),
    "kattis-case-space": ("case_sensitive", "space_change_sensitive"),
}
TOLERANCES = {
    (0.0, 0.0): (),
    (1e-3, 1e-3): ("float_tolerance", "1e-3"),
    (0.5, 0.0): ("float_absolute_tolerance", "0.5"),
    (0.0, 0.5): ("float_relative_tolerance", "0.5"),
}


@pytest.fixture
def judge(tmp_path):
    """Whether the default validator accepts an output."""
    if not VALIDATOR.is_file():
        pytest.skip("problemtools came without its default validator (built from source?)")
    (tmp_path / "feedback").mkdir()
    answer = tmp_path / "answer"

    def judge(output, expected, flags):
        answer.write_bytes(expected)
        done = subprocess.run(
            [str(VALIDATOR), str(answer), str(answer), str(tmp_path / "feedback"), *flags],
            input=output,
            check=False,
            capture_output=True,
        )
        assert done.returncode in (42, 43), done.stderr
        return done.returncode == 42

    return judge


WORDS = (
    *(
        b"a A abc aBC \xc3\xa9 \xc3\x89 1 1.0 1. .5 0.5 5e-1 +1 -0 0 01 1e0 1E0 2 1.4 1.6 1.0005"
    ).split(),
    *(
        b"1000000 1000400 1e400 -1e400 inf INF nan 0x1 0x.8p1 0x1p 0x1p1 0x 1e 1e+ 1_0 1,0 . - +"
    ).split(),
    b"1-1",
    b"1a",
    b"1e-400",
    b"1.002",
    b"9007199254740993",
    b"9007199254740992",
)
SPACES = (b" ", b"\n", b"  ", b"\t", b"\r\n", b"\n\n", b" \n", b"\v", b"\f")


def pairs():
    """Every pair of words, and texts whose spaces and words differ here and there."""
    yield from itertools.product(WORDS, WORDS)
    chance = random.Random(1)
    for _ in range(250):
        text = [chance.choice(WORDS[:16]) for _ in range(chance.randrange(4))]
        other = [w if chance.random() < 0.8 else chance.choice(WORDS) for w in text]
        if chance.random() < 0.2:
            other = other[:-1] if chance.random() < 0.5 else [*other, chance.choice(WORDS)]
        gaps = [chance.choice(SPACES[: chance.randrange(1, len(SPACES))]) for _ in range(6)]
        same = chance.random() < 0.5
        more = gaps if same else [chance.choice(SPACES) for _ in range(6)]
        head, tail = (chance.choice((b"", b"\n", b" ")) for _ in range(2))
        yield (
            head + b"".join(w + g for w, g in zip(text, gaps, strict=False)),
            b"".join(w + g for w, g in zip(other, more, strict=False)) + tail,
        )


PAIRS = sorted(set(pairs()))


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("name", FLAGS)
def test_every_flag_judges_the_same(judge, name, tolerance):
    flags = (*FLAGS[name], *TOLERANCES[tolerance])
    chance = random.Random(f"{name} {tolerance}")
    differ = [
        (output, expected)
        for output, expected in chance.sample(PAIRS, 60)
        if compare(output, expected, Comparator(name, *tolerance)).ok
        is not judge(output, expected, flags)
    ]
    assert differ == []


STRICT = re.compile(rb"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


def _differing(output, expected):
    return [(a, b) for a, b in zip(output.split(), expected.split(), strict=False) if a != b]


def _equal_numbers(output, expected):
    """`tokens` compares numbers by their value also where no tolerance is asked for."""
    return all(
        STRICT.fullmatch(a) and STRICT.fullmatch(b) and Decimal(a.decode()) == Decimal(b.decode())
        for a, b in _differing(output, expected)
    )


def _odd_numbers(output, expected):
    """`float` asks for numbers as people write them: no leading zeros, nothing of C's."""
    return any(
        not (STRICT.fullmatch(a) and STRICT.fullmatch(b)) for a, b in _differing(output, expected)
    )


@pytest.mark.parametrize(
    ("comparator", "flags", "listed"),
    [
        (Comparator("tokens", 0.0, 0.0), ("case_sensitive",), _equal_numbers),
        (
            Comparator("float", 1e-3, 1e-3),
            ("case_sensitive", "float_tolerance", "1e-3"),
            _odd_numbers,
        ),
    ],
)
def test_our_own_comparators_differ_where_it_is_listed(judge, comparator, flags, listed):
    chance = random.Random(comparator.name)
    differ = [
        (output, expected)
        for output, expected in chance.sample(PAIRS, 250)
        if compare(output, expected, comparator).ok is not judge(output, expected, flags)
    ]
    assert differ
    assert [pair for pair in differ if not listed(*pair)] == []
