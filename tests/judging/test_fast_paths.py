"""The fast paths beside the simple ones: the same verdicts, and a bound on the work.

The simple ones are written from the words of the documentation, a token and a line at a time.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier import _fast, _json
from verifier._text import to_utf8
from verifier.judging import (
    COMPARATORS,
    bags,
    blocks,
    compare,
    kattis,
    lines,
    numbers,
    values,
    verdict,
)
from verifier.judging.numbers import all_close, all_within, close
from verifier.judging.values import same
from verifier.types import Case, Comparator, Limits, RunFacts, Status, Suite, SuiteKind

_fast.arrays()  # its import counts for no test's deadline

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
JSON_TEXTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner),
).map(json.dumps)
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
    st.sampled_from([1, _fast.LARGE_BYTES]),
)
def test_blocks_change_no_verdict(pair, name, tolerances, block, large) -> None:
    output, expected = pair
    comparator = Comparator(name, *tolerances)
    with (
        mock.patch.object(blocks, "BLOCK_BYTES", block),
        mock.patch.object(_fast, "LARGE_BYTES", large),
    ):
        match = compare(output, expected, comparator)
    assert match.ok is SIMPLE[name](output, expected, comparator)


# -- with the libraries and without


@contextmanager
def bulk(*, used: bool) -> Iterator[None]:
    """The libraries for data of any size, or for none."""
    with ExitStack() as stack:
        if used:
            stack.enter_context(mock.patch.object(_fast, "LARGE_BYTES", 1))
            stack.enter_context(mock.patch.object(numbers, "_LARGE_ROW", 1))
        else:
            stack.enter_context(mock.patch.object(_fast, "orjson", None))
            stack.enter_context(mock.patch.object(_fast, "arrays", return_value=None))
        yield


def test_the_libraries_are_here() -> None:
    assert _fast.orjson is not None
    assert _fast.arrays() is not None


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-10, 10).map("{:.6f}".format),
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-3, 3).map(str),
    st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,7})?", fullmatch=True),
    st.sampled_from(
        b"-0 0 -0.0 +1 .5 5. 1e5 100000 1E5 1.0E05 00.5 01 1e400 nan inf 1_0 1,2 0x10 true null {}"
        b' "5" [ ] 1],[2 9223372036854775807 9223372036854775808 18446744073709551616'
        b" -9223372036854775809 9007199254740993 9007199254740992 9007199254740993.0 1.0e0000001"
        b" 2.2250738585072011e-308 5e-324 2.4703282292062328e-324".decode().split()
    ),
)


@st.composite
def rows_of_numbers(draw) -> tuple[bytes, bytes]:
    """Two outputs of numbers, of which most are alike."""
    a = draw(st.lists(NUMBERS, min_size=1, max_size=12))
    b = list(a)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(b) - 1))
        b[at] = draw(st.one_of(NUMBERS, st.just(b[at] + "1"), st.just(b[at] + ".0")))
    b = b[: draw(st.sampled_from([len(b), len(b), len(b), len(b) - 1]))]
    if draw(st.booleans()):
        b = draw(st.permutations(b))
    blanks = st.sampled_from(["\n", "\n", "\n", " ", "\n\n", " \n", "\r\n", "\t"])
    between = draw(blanks)
    return between.join(a).encode(), (between if draw(st.booleans()) else draw(blanks)).join(
        b
    ).encode()


@settings(max_examples=400)
@given(rows_of_numbers() | pairs(), st.sampled_from(sorted(COMPARATORS)), TOLERANCES)
def test_the_libraries_change_no_verdict(pair, name, tolerances) -> None:
    output, expected = pair
    if name == "json":
        output, expected = (
            b"[" + b",".join(side.split()) + b"]" if side.count(b" ") % 2 else side for side in pair
        )
    comparator = Comparator(name, *tolerances)
    found = []
    for used in (True, False):
        with bulk(used=used):
            found.append(compare(output, expected, comparator))
    assert found[0].ok is found[1].ok
    if name != "unordered-lines":  # of several odd lines, either may be shown
        assert found[0].message == found[1].message


@given(st.lists(NUMBERS, min_size=1, max_size=5), st.sampled_from([" ", ",", "\n", ", "]))
def test_json_is_read_alike(items, between) -> None:
    text = between.join(items)
    for one in (text, f"[{text}]", f'{{"a":{text},"a":[{text}]}}', f"{text} "):
        for data in (one, one.encode()):
            read = []
            for used in (True, False):
                with bulk(used=used):
                    try:
                        value = _json.loads(data)
                    except ValueError as error:
                        value = f"ValueError {error}"
                    read.append(repr(value))  # tells 1 from 1.0, and -0.0 from 0.0
            assert read[0] == read[1]


@given(st.binary(max_size=40) | st.text(max_size=20) | JSON_TEXTS)
def test_any_json_is_read_alike(data) -> None:
    read = []
    for used in (True, False):
        with bulk(used=used):
            try:
                read.append(repr(_json.loads(data)))
            except ValueError as error:
                read.append(str(error))
    assert read[0] == read[1]


@given(st.lists(st.binary(max_size=40), max_size=12), st.randoms(use_true_random=False))
def test_bags_of_lines(items, change) -> None:
    a = [line for item in items for line in item.split(b"\n")]
    b = change.sample(a, len(a))
    if b and change.random() < 0.5:
        b[0] = change.choice([b[-1], b[0] + b"\0", b[0][:-1], b"\0" * 8])
    with bulk(used=True):
        found = bags.compare_lines(b"\n".join(a), b"\n".join(b))
    if found is True:
        assert Counter(a) == Counter(b)
    elif found is not None:
        assert Counter(a)[found] != Counter(b)[found]


def test_lines_of_one_hash_are_told_apart() -> None:
    """Where the hash is worth nothing, the plain way decides."""
    lines = [b"%06d" % n for n in range(20_000)]
    a, b = b"\n".join(lines), b"\n".join(lines[::-1])
    with mock.patch.object(bags, "_FACTOR", 0):
        assert bags.compare_lines(a, b) is None
        assert compare(a, b, Comparator("unordered-lines")).ok
        assert not compare(a, b[:-1] + b"x", Comparator("unordered-lines")).ok
    assert bags.compare_lines(a, b) is True


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


@given(JSON, st.booleans(), st.randoms(use_true_random=False), TOLERANCES)
def test_no_equal_value_is_too_large_to_be_read(wanted, ascii_only, change, tolerances) -> None:
    """Without the bytes that are allowed for any value."""
    got = nudged(wanted, change)
    if same(got, wanted, Comparator("json", *tolerances)).ok:
        expected = json.dumps(plain(wanted), ensure_ascii=ascii_only, separators=(",", ":"))
        returned = b'{"ok":true,"value":%s}' % _json.dumps(got).encode()
        with mock.patch.object(verdict, "_FIXED_BYTES", 32):
            assert not verdict._too_large(returned, to_utf8(expected))


def plain(value: object) -> object:
    """With integers for floats where they are equal, and floats that are written shorter."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, _json.BigInt):
        return str(value)
    if type(value) is int and 2**63 < abs(value) < 10**308:
        return float(value)
    return value


@pytest.mark.parametrize(
    ("got", "expected"),
    [(10**308, "1e308"), (-(10**308), "-1e308"), (-2.2250738585072014e-308, "0"), (1.0, "1"),
     ("\U0001f600" * 500, '"' + "\U0001f600" * 500 + '"'),
     (["\x7f"] * 500, '["' + '","'.join("\x7f" * 500) + '"]'),
     ([10**300] * 900, "[" + ",".join(["1e300"] * 900) + "]")],
)  # fmt: skip
def test_values_that_are_much_longer_than_what_they_equal(got, expected: str) -> None:
    assert same(got, json.loads(expected), Comparator()).ok
    suite = Suite(SuiteKind.CALL, (Case(b"[]", expected.encode()),), fn_name="f")
    facts = RunFacts(exit_code=0, returned=b'{"ok":true,"value":%s}' % _json.dumps(got).encode())
    with mock.patch.object(verdict, "_FIXED_BYTES", 32):
        assert verdict.judge(suite, 0, facts, Limits()).status is Status.ACCEPTED


def test_a_value_of_many_megabytes_is_not_read() -> None:
    suite = Suite(SuiteKind.CALL, (Case(b"[]", b"[1,2]"),), fn_name="f")
    facts = RunFacts(exit_code=0, returned=b'{"ok":true,"value":[' + b"1," * 10_000_000 + b"1]}")
    with mock.patch.object(_json, "loads", side_effect=AssertionError):
        found = verdict.judge(suite, 0, facts, Limits())
    assert found.status is Status.WRONG_ANSWER


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
    for module in (lines, kattis):
        block_pairs = module.block_pairs

        def counted_pairs(a, b, block_pairs=block_pairs):
            for pair in block_pairs(a, b):
                count["tokens"] += 2 * pair[2]
                yield pair

        monkeypatch.setattr(module, "block_pairs", counted_pairs)
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
