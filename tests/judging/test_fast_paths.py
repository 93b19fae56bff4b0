"""The fast paths beside the simple ones: the same verdicts, and a bound on the work.

The simple ones are written from the words of the documentation, a token and a line at a time.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier import _json
from verifier.judging import COMPARATORS, blocks, compare, kattis, lines, numbers, values
from verifier.judging.numbers import all_close, all_within, close
from verifier.judging.values import same
from verifier.types import Comparator

# -- the simple paths


def rows(data: bytes) -> list[list[bytes]]:
    """The tokens of each line that has any."""
    return [row for row in (line.split() for line in data.split(b"\n")) if row]


def alike(got: list[bytes], wanted: list[bytes], c: Comparator, *, integers: bool = False) -> bool:
    return len(got) == len(wanted) and all(
        close(g, w, c.abs_tol, c.rel_tol, integers=integers)
        for g, w in zip(got, wanted, strict=True)
    )


def simple_lines(output: bytes, expected: bytes, c: Comparator) -> bool:
    got, wanted = rows(output), rows(expected)
    return len(got) == len(wanted) and all(alike(g, w, c) for g, w in zip(got, wanted, strict=True))


def simple_unordered(output: bytes, expected: bytes, c: Comparator) -> bool:
    return Counter(map(tuple, rows(output))) == Counter(map(tuple, rows(expected)))


def simple_kattis(output: bytes, expected: bytes, c: Comparator) -> bool:
    got, wanted = output.lower().split(), expected.lower().split()
    return len(got) == len(wanted) and all(
        g == w or (max(c.abs_tol, c.rel_tol) > 0 and kattis._near(g, w, c))
        for g, w in zip(got, wanted, strict=True)
    )


def white(data: bytes) -> bytes:
    return re.sub(rb"\S+", b"x", data)


SIMPLE = {
    "lines": simple_lines,
    "case-insensitive": lambda o, e, c: simple_lines(o.lower(), e.lower(), c),
    "tokens": lambda o, e, c: alike(o.split(), e.split(), c),
    "float": lambda o, e, c: alike(o.split(), e.split(), c, integers=True),
    "unordered-lines": simple_unordered,
    "kattis": simple_kattis,
    "kattis-space": lambda o, e, c: simple_kattis(o, e, c) and white(o) == white(e),
}

PIECES = st.sampled_from(
    b"1|1.0|0.5|.5|0.50000001|0.5000001|x|yy|X| | |\n|\n|\n\n|\r\n|\t|\r|\v|\f|\0|-|0|00|1e5"
    b""
    b"|1.0e400|nan|_|7.|-0|+1.0|12345678901234567890.5| \n |       |\n\n\n\n\n\n\n\n\n\n\n\n\n"
    b"|1.5e0000001|1000000.5|1000000.0".split(b"|")
)  # fmt: skip
PARTS = st.lists(PIECES, max_size=25)
TOLERANCES = st.sampled_from(
    [(1e-6, 1e-6), (0.0, 0.0), (0.0, 1e-6), (1e-6, 0.0), (0.1, 0.1), (0.0, 0.5), (1e300, 0.0)]
)


@st.composite
def pairs(draw) -> tuple[bytes, bytes]:
    """Two outputs; mostly, one is the other with a few changes."""
    a = draw(PARTS)
    b = draw(PARTS) if draw(st.booleans()) else list(a)
    for _ in range(draw(st.integers(0, 3))):
        if b:
            b[draw(st.integers(0, len(b) - 1))] = draw(st.one_of(PIECES, st.just(b"")))
    return b"".join(a), b"".join(b)


@given(
    pairs(),
    st.sampled_from(sorted(SIMPLE)),
    TOLERANCES,
    st.sampled_from([1, 2, 3, 7, blocks.BLOCK_BYTES]),
)
def test_blocks_change_no_verdict(pair, name, tolerances, block) -> None:
    output, expected = pair
    comparator = Comparator(name, *tolerances)
    with mock.patch.object(blocks, "BLOCK_BYTES", block):
        match = compare(output, expected, comparator)
    assert match.ok is SIMPLE[name](output, expected, comparator)


@given(pairs(), st.sampled_from([1, 3, 8]))
def test_the_message_names_the_first_difference(pair, block) -> None:
    output, expected = pair
    with mock.patch.object(blocks, "BLOCK_BYTES", block):
        match = compare(output, expected, Comparator())
    if match.ok:
        return
    got, wanted = rows(output), rows(expected)
    where = match.message.split(":")[0].replace("line ", "").split(", token ")
    n = int(where[0]) - 1
    c = Comparator()
    assert all(alike(g, w, c) for g, w in zip(got[:n], wanted[:n], strict=True))
    if len(where) == 1:
        assert n in (len(got), len(wanted)) or len(got[n]) != len(wanted[n])
    else:
        t = int(where[1]) - 1
        assert len(got[n]) == len(wanted[n])
        assert alike(got[n][:t], wanted[n][:t], c)
        assert not close(got[n][t], wanted[n][t], c.abs_tol, c.rel_tol)


@given(st.binary(max_size=60), st.integers(0, 12))
def test_lines_are_found_by_halving(data: bytes, number: int) -> None:
    split = data.split(b"\n")
    at = blocks.line_start(data, number)
    if number < len(split):
        assert data[at:].split(b"\n")[0] == split[number]
        assert data[:at].count(b"\n") == number
    else:
        assert at == -1


@given(PARTS)
def test_canonical(parts) -> None:
    data = b"".join(parts)
    plain = blocks.canonical(data)
    assert plain == b"\n".join(b" ".join(row) for row in rows(data))
    assert blocks.separators(plain) == b"\n".join(b" " * (len(r) - 1) for r in rows(data))


FLOATS = st.floats() | st.sampled_from([0.0, 1.0, 1.0000001, 1e308, 5e-324, 1e-5, 1e5, 1e5 + 0.05])


@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=8), TOLERANCES)
def test_what_holds_for_a_list_holds_for_each(pairs, tolerances) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    abs_tol, rel_tol = tolerances
    if all_within(a, b, abs_tol, rel_tol):
        assert all(
            math.isfinite(x) and (abs(x - y) <= abs_tol or abs(x - y) <= rel_tol * abs(y))
            for x, y in pairs
        )


@given(
    st.lists(st.tuples(st.floats(1, 1e6), st.floats(-1e-5, 1e-5)), min_size=1, max_size=30),
    TOLERANCES,
)
def test_floats_about_the_tolerance(pairs, tolerances) -> None:
    got = [b"%.9f" % (x + d) for x, d in pairs]
    wanted = [b"%.8f" % x for x, _ in pairs]
    each = all(close(g, w, *tolerances) for g, w in zip(got, wanted, strict=True))
    assert all_close(got, wanted, *tolerances) is each


# -- JSON


def simple_same(a: object, b: object, c: Comparator) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(simple_same(x, y, c) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(simple_same(a[k], b[k], c) for k in a)
    return values._same_scalar(a, b, c)


SCALARS = st.one_of(
    st.sampled_from(
        [0, 1, 2, 1.0, 0.5, 0.5 + 1e-8, 10**400, math.nan, math.inf, True, False, None, "x", "1"]
    ),
    st.integers(),
    st.floats(),
    st.just(_json.BigInt("1" * 5000)),
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ),
    max_leaves=12,
)


def nudged(value: object, change: random.Random) -> object:
    """The same value with some of its scalars changed a little."""
    if isinstance(value, list):
        return [nudged(item, change) for item in value]
    if isinstance(value, dict):
        return {key: nudged(item, change) for key, item in value.items()}
    if isinstance(value, float):
        return value + change.choice([0, 0, 1e-8, 1])
    if type(value) is int:
        return change.choice([value, value, bool(value), value + 1])
    return value


@given(JSON, JSON, st.booleans(), st.randoms(use_true_random=False), TOLERANCES)
def test_json_values_at_once_or_one_by_one(a, b, related, change, tolerances) -> None:
    if related:
        b = nudged(a, change)
    comparator = Comparator("json", *tolerances)
    expected = simple_same(a, b, comparator)
    match = same(a, b, comparator)
    assert match.ok is expected
    assert match.ok or match.message.startswith("result")
    texts = [_json.dumps(value).encode() for value in (a, b)]
    assert compare(*texts, comparator).ok is expected


@pytest.mark.parametrize("digits", [3999, 4000, 4001, 4300, 4301, 10_000])
@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("before", [0, 1, 37, 99])
def test_integers_of_many_digits(digits: int, sign: str, before: int) -> None:
    """The C reader takes what it can convert cheaply, and nothing else."""
    text = " " * before + "[1," + sign + "7" * digits + "]"
    first, number = _json.loads(text)
    assert first == 1
    assert isinstance(number, _json.BigInt) is (digits + len(sign) > 4000)
    assert isinstance(number, int) or str(number) == sign + "7" * digits


# -- how much work


LINES = 30_000
PER_BLOCK = blocks.BLOCK_BYTES // 10 + 1


@pytest.fixture
def work(monkeypatch) -> Counter[str]:
    """How many tokens were made, and how many were compared one by one in Python."""
    count: Counter[str] = Counter()

    def counting(module, name):
        function = getattr(module, name)

        def counted(*args, **options):
            count["one by one"] += 1
            return function(*args, **options)

        monkeypatch.setattr(module, name, counted)

    for module, name in (
        (lines, "close"),
        (numbers, "_near"),
        (kattis, "_near"),
        (values, "_same_scalar"),
    ):
        counting(module, name)
    token_blocks = blocks.token_blocks

    def counted_blocks(data, start):
        for block in token_blocks(data, start):
            count["tokens"] += len(block)
            yield block

    monkeypatch.setattr(blocks, "token_blocks", counted_blocks)
    return count


def numbered(shape: str, name: str, change: float = 0.0) -> bytes:
    items = [shape % (1 + i / LINES + change) for i in range(LINES)]
    return ("[" + ",".join(items) + "]" if name == "json" else "\n".join(items)).encode()


TOLERANT = ["lines", "tokens", "float", "case-insensitive", "kattis", "kattis-space", "json"]


@pytest.mark.parametrize("name", TOLERANT)
@pytest.mark.parametrize("change", [1e-9, 9e-7, 1.5e-6])
def test_close_numbers_are_not_compared_one_by_one(work, name: str, change: float) -> None:
    """Absolutely close by far, absolutely close for each but not in sum, relatively close."""
    comparator = Comparator(name, 1e-6, 2e-6)
    assert compare(numbered("%.10f", name, change), numbered("%.11f", name), comparator).ok
    assert work["one by one"] <= 1  # the JSON value as a whole


@pytest.mark.parametrize("name", TOLERANT)
def test_a_difference_at_the_end_is_found_in_one_block(work, name: str) -> None:
    expected = numbered("%.7f", name)
    output = (
        expected[:-3] + b"x" + expected[-2:] if name != "json" else expected[:-10] + b"5.9999667]"
    )
    assert not compare(output, expected, Comparator(name)).ok
    assert work["one by one"] <= 4
    assert work["tokens"] <= 2


@pytest.mark.parametrize("name", TOLERANT)
def test_a_difference_at_the_start_ends_the_work(work, name: str) -> None:
    expected, output = numbered("%.7f", name), numbered("%.8f", name, 1.0)
    assert not compare(output, expected, Comparator(name)).ok
    assert work["one by one"] <= 4
    assert work["tokens"] <= 2 * PER_BLOCK


@pytest.mark.parametrize("name", ["lines", "tokens", "float"])
def test_one_wrong_number_among_close_ones(work, name: str) -> None:
    expected = numbered("%.7f", name)
    output = numbered("%.8f", name)[:-3] + b"x"
    assert not compare(output, expected, Comparator(name)).ok
    assert work["one by one"] <= PER_BLOCK


def test_nested_lists_are_compared_once(work) -> None:
    """A difference at the bottom of deep lists must not cost the depth times the size."""
    wide: list[object] = [[i / 7, str(i)] for i in range(300)]
    a, b = [*wide, [0.5, None]], [*wide, [0.5, 1]]
    for _ in range(300):
        a, b = [a], [b]
    assert not same(a, b, Comparator("json")).ok
    assert work["one by one"] < 3000


def test_runs_of_blanks_of_any_length() -> None:
    """They are squeezed in a few passes, then by a regular expression."""
    for length in (1, 15, 16, 17, 31, 33, 1000, 100_000):
        for gap in (b" ", b"\n", b"\t", b" \n"):
            plain = blocks.canonical(b"a" + gap * length + b"b")
            assert plain == b"a" + (b"\n" if b"\n" in gap else b" ") + b"b"


@pytest.mark.parametrize("name", sorted(COMPARATORS))
@pytest.mark.parametrize(
    "unit", [b"3", b"0x1", b".", b"1.", b"1e", b"-", b"[", b"1 ", b"x\n", b"\r"]
)
def test_long_tokens_take_no_square_of_their_length(name: str, unit: bytes) -> None:
    """Quadratic time would not end here (found by the fuzzer)."""
    token = unit * (400_000 // len(unit))
    comparator = Comparator(name)
    assert not compare(token + b"x", token + b"y", comparator).ok
    compare(b"0x" + token + b"z", b"1" + token + b"y", comparator)
