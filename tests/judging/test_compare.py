"""Every comparator as a table, and what must hold for any output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.errors import RequestError
from verifier.judging import COMPARATORS, compare
from verifier.judging.numbers import all_close, close
from verifier.types import Comparator

BIG = "1" + "0" * 5000

# By name: the output, the expected output, and whether they are equal.
LINES = {
    "equal": ("5\n6\n", "5\n6\n", True),
    "no final line end": ("5", "5\n", True),
    "final blank lines": ("5\n\n\n", "5", True),
    "trailing blanks": ("5  \n6\t\n", "5\n6\n", True),
    "leading blanks": ("  5\n6\n", "5\n6\n", True),
    "inner blanks": ("1   2\n", "1 2\n", True),
    "tabs": ("1\t2\n", "1 2\n", True),
    "crlf expected": ("5\n6\n", "5\r\n6\r\n", True),
    "crlf output": ("5\r\n6\r\n", "5\n6\n", True),
    "blank lines between": ("1\n\n2\n", "1\n2\n", True),
    "blank lines expected": ("1\n2\n", "\n1\n \n2\n", True),
    "a share of an integer": ("999999999.5", "1000000007", False),
    "a share of one of many": ("1.5 999999999.5 2", "1.5 1000000007 2", False),
    "an integer with a point": ("1000000007.0", "1000000007", True),
    "an integer that was rounded": ("4.9999999", "5", True),
    "an integer that no float has": ("9223372036854775808.0", "9223372036854775807", False),
    "an integer that a float has": ("9223372036854775808.0", "9223372036854775808", True),
    "an integer of many digits": (f"{10**40}.0", str(10**40 + 1), False),
    "the same of many digits": (f"{10**40}.00", str(10**40), True),
    "a share of a number with a point": ("999999999.5", "1000000007.0", True),
    "both empty": ("", "", True),
    "blank is empty": (" \n\n", "", True),
    "empty output": ("", "5\n", False),
    "empty expected": ("5\n", "", False),
    "order of lines": ("NO\nYES\nYES\n", "YES\nNO\nYES\n", False),
    "fewer repeats": ("Christmas Eve\n", "Christmas Eve Eve Eve\n", False),
    "missing space": ("ab\n", "a b\n", False),
    "joined lines": ("1 2 3\n", "1\n2\n3\n", False),
    "split lines": ("1\n2\n3\n", "1 2 3\n", False),
    "token moved to the next line": ("1 2\n3\n", "1\n2 3\n", False),
    "extra line": ("sum is\n5\n", "5\n", False),
    "missing line": ("5\n", "5\n6\n", False),
    "case": ("Yes\n", "YES\n", False),
    "close": ("0.3333333333333333", "0.333333333333", True),
    "close beside a word": ("x 0.33333333 y", "x 0.33333334 y", True),
    "far": ("0.33", "0.3333333", False),
    "relative": ("1000000.5", "1000000.0", True),
    "int and point": ("1.0", "1", True),
    "point and int": ("1", "1.0", True),
    "int and far point": ("1", "1.1", False),
    "trailing point": ("1.", "1", True),
    "leading point": (".5", "0.5", True),
    "sign": ("+1.0", "1.0", True),
    "minus zero": ("-0.0", "0.0", True),
    "integers": ("1000000", "1000001", False),
    "large integers": ("123456789012345678901", "123456789012345678902", False),
    "huge integers": (BIG, BIG, True),
    "huge integers that differ": (BIG + "1", BIG + "2", False),
    "plus sign of an integer": ("+5", "5", False),
    "minus zero integer": ("-0", "0", False),
    "leading zeros": ("11", "0011", False),
    "leading zeros with point": ("7.5", "007.5", False),
    "leading zero before one with point": ("-01.5", "-1.5", False),
    "underscore": ("1_0", "10", False),
    "underscore with point": ("1_0.0", "10.0", False),
    "exponent without point": ("1e5", "100000", False),
    "exponent with point": ("1.0e5", "100000", True),
    "exponent upper case": ("1.5E-3", "0.0015", True),
    "nan": ("nan", "1.0", False),
    "nan expected": ("1.0", "nan", False),
    "nan both": ("nan 1", "nan  1", True),
    "inf": ("inf", "1.0", False),
    "infinity and inf": ("Infinity", "inf", False),
    "overflow equal": ("1.0e400", "1.00e400", True),
    "overflow differs": ("1.0e400", "1.0e401", False),
    "overflow against finite": ("1.0e400", "1.0", False),
    "absurd exponent": ("1.0e99999999", "1.0e99999998", False),
    "underflow": ("1.0e-400", "0.0", True),
    "hex": ("0x1p3", "8.0", False),
    "two points": ("1.2.3", "1.2.4", False),
    "unicode digits": ("\u0661.0", "1.0", False),
    "full-width": ("\uff11.0", "1.0", False),
    "comma": ("1,0", "1.0", False),
    "NUL": ("5\0\n", "5\n", False),
    "NUL tokens for a line end": ("1 \0 2", "1\n2", False),
    "no-break space is no blank": ("1\u00a02", "1 2", False),
    "form feed": ("1\f2\n", "1 2\n", True),
}


@pytest.mark.parametrize("name", LINES)
def test_lines(name: str) -> None:
    output, expected, equal = LINES[name]
    match = compare(output.encode(), expected.encode(), Comparator())
    assert match.ok is equal
    assert bool(match.message) is not equal
    assert len(match.message) <= 300


OTHERS = [
    ("json", "[999999999.5, 1.5]", "[1000000007, 1.5]", False),
    ("json", "[1000000007.0]", "[1000000007]", True),
    ("json", "[9223372036854775808.0]", "[9223372036854775807]", False),
    ("json", "[9223372036854775808.0]", "[9223372036854775808]", True),
    ("tokens", "999999999.5", "1000000007", False),
    ("float", "999999999.5", "1000000007", True),
    ("tokens", "1 2 3", "1\n2\n3\n", True),
    ("tokens", "1.0 2", "1 2.0000000001", True),
    ("tokens", "1 2", "1 2 3", False),
    ("tokens", "11", "011", False),
    ("tokens", "", "", True),
    ("exact", "5\n", "5\n", True),
    ("exact", "5", "5\n", False),
    ("exact", "5\n", "5\r\n", False),
    ("exact", " 5\n", "5\n", False),
    ("float", "100", "100.00000001", True),
    ("float", "1e5", "100000", True),
    ("float", "5000000", "5000001", True),
    ("float", "5", "6", False),
    ("float", "007", "7", False),
    ("float", "abc", "abc", True),
    ("float", "abc", "abd", False),
    ("float", "nan", "1", False),
    ("float", "1_0", "10", False),
    ("unordered-lines", "b\na\n\na", "a\na\nb\n", True),
    ("unordered-lines", "a\nb", "a\na\nb", False),
    ("unordered-lines", "a\nb\nc", "a\nb", False),
    ("unordered-lines", "1  2\r\n3", "3\n1 2", True),
    ("unordered-lines", "2 1", "1 2", False),
    ("json", '{"b": [1, 2.0], "a": null}', '{"a":null,"b":[1,2]}', True),
    ("json", "[1, 2]", "[2, 1]", False),
    ("json", "true", "1", False),
    ("json", "0.30000000000000004", "0.3", True),
    ("json", "NaN", "NaN", False),
    ("json", "[", "[]", False),
    ("json", "[]", "[", False),
    ("json", "[" * 100_000, "[]", False),
    ("json", BIG, BIG, True),
    ("json", f"[{BIG}]", f"[{BIG}0]", False),
    ("case-insensitive", "Yes\n", "YES", True),
    ("case-insensitive", "YES NO", "yes yes", False),
    ("case-insensitive", "1.0E2", "100.0", True),
    ("verl-sf", "5\n\n", "5", True),
    ("verl-sf", "5 ", "5", False),
    ("verl-sf", "\n5", "5", False),
    ("verl-sf", "5.0", "5", False),
    ("prime", " 5 \n", "5", True),
    ("prime", "1\n2\n", "1\n2", True),
    ("prime", " 1 \n 2\n", "1\n2", True),
    ("prime", "1\n\n2\n", "1\n2", True),
    ("prime", "1  2", "1 2", False),
    ("prime", "1.00001", "1.0", True),
    ("prime", "1.0001", "1.0", False),
    ("prime", "1_0.0", "10", True),
    ("prime", "nan", "nan ", True),
    ("prime", "nan", "1.0", False),
    ("prime", "inf\n1", "inf\n1.0", True),
    ("prime", "inf", "1.0", False),
    ("prime", "10", "11", False),
    ("prime", "1.0\n2", "1.0", False),
    ("prime", "1 2.0", "1 2", False),
    ("prime", "", "", True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "output", "expected", "equal"), OTHERS)
def test_other_comparators(name: str, output: str, expected: str, equal: bool) -> None:
    assert compare(output.encode(), expected.encode(), Comparator(name)).ok is equal


def test_tolerances() -> None:
    assert compare(b"1.05", b"1.0", Comparator("lines", abs_tol=0.1, rel_tol=0.0)).ok
    assert not compare(b"1.05", b"1.0", Comparator("lines", abs_tol=0.01, rel_tol=0.01)).ok
    assert compare(b"105.0", b"100.0", Comparator("lines", abs_tol=0.0, rel_tol=0.1)).ok
    assert not compare(b"1.1", b"1.0", Comparator("lines", abs_tol=0.0, rel_tol=0.0)).ok
    assert compare(b"1.10", b"1.1", Comparator("lines", abs_tol=0.0, rel_tol=0.0)).ok


def test_unknown_comparator() -> None:
    with pytest.raises(RequestError, match="comparator: unknown comparator 'line'; known: lines"):
        compare(b"", b"", Comparator("line"))


@pytest.mark.parametrize(
    ("output", "expected", "message"),
    [
        (b"1\n2\n", b"1\n3\n", "line 2, token 1: expected '3', got '2'"),
        (b"a b\n", b"a c\n", "line 1, token 2: expected 'c', got 'b'"),
        (b"1\n", b"1\n2\n", "line 2: expected '2', got the end"),
        (b"1\n2 \n", b"1\n", "line 2: expected the end, got '2'"),
        (b"1 2\n", b"1\n2\n", "line 1: expected '1', got '1 2'"),
        (b"\xff\x1b[31m\n", b"5\n", "line 1, token 1: expected '5', got '\\xff\\x1b[31m'"),
        (b"x" * 1000, b"5", "line 1, token 1: expected '5', got '" + "x" * 80 + "...'"),
    ],
)
def test_messages(output: bytes, expected: bytes, message: str) -> None:
    assert compare(output, expected, Comparator()).message == message


def test_messages_of_others() -> None:
    assert compare(b"ab", b"ac", Comparator("exact")).message == "byte 2: expected 'c', got 'b'"
    assert compare(b"a", b"ab", Comparator("exact")).message == "byte 2: expected 'b', got the end"
    assert compare(b"1 2", b"1 3", Comparator("tokens")).message == "token 2: expected '3', got '2'"
    message = compare(b"a\nb", b"a\na\nb", Comparator("unordered-lines")).message
    assert message == "line 'a': expected 2 times, got 1 times"


def test_a_difference_after_many_lines_is_found() -> None:
    lines = [b"%d" % i for i in range(50_000)]
    expected = b"\n".join(lines)
    lines[45_000] = b"x"
    message = compare(b" \n".join(lines), expected, Comparator()).message
    assert message == "line 45001, token 1: expected '45000', got 'x'"
    assert compare(b" \n".join(expected.split()), expected, Comparator()).ok


def test_lines_work_when_every_control_byte_occurs() -> None:
    junk = bytes(range(9)) + bytes(range(14, 32)) + b"\x7f"
    assert compare(b"1  2" + junk, b"1 2" + junk, Comparator()).ok
    assert not compare(b"1  2" + junk, b"1 3" + junk, Comparator()).ok


TOKENS = st.one_of(
    st.from_regex(rb"[+-]?[0-9]{0,3}\.?[0-9]{0,3}([eE][+-]?[0-9]{1,8})?", fullmatch=True),
    st.sampled_from(b"nan inf -inf 1_0 0.1 0.10000001 1e5 00 x . 1.0e400".split()),
).filter(bool)  # fmt: skip


@given(TOKENS, TOKENS, st.booleans())
def test_one_rule_for_one_token_and_for_many(a: bytes, b: bytes, integers: bool) -> None:
    one = close(a, b, 1e-6, 1e-6, integers=integers)
    assert all_close([a], [b], 1e-6, 1e-6, integers=integers) is one
    assert all_close([b"y", a, b"1.5"], [b"y", b, b"1.5"], 1e-6, 1e-6, integers=integers) is one
    assert close(a, a, 0, 0)


@given(st.lists(TOKENS, max_size=20), st.lists(TOKENS, max_size=20))
def test_lists_of_tokens(a: list[bytes], b: list[bytes]) -> None:
    n = min(len(a), len(b))
    each = all(close(x, y, 1e-6, 1e-6) for x, y in zip(a, b, strict=False))
    assert all_close(a[:n], b[:n], 1e-6, 1e-6) is each


OUTPUTS = st.one_of(
    st.binary(max_size=60),
    st.lists(
        st.sampled_from([b"1", b"1.0", b"0.5", b"x", b" ", b"\n", b"\r\n", b"\0", b"[", b"]"]),
        max_size=20,
    ).map(b"".join),
)  # fmt: skip


@given(OUTPUTS, OUTPUTS, st.sampled_from(COMPARATORS))
def test_any_output(output: bytes, expected: bytes, name: str) -> None:
    match = compare(output, expected, Comparator(name))
    assert match.ok or match.message
    assert match.message.isprintable()
    assert len(match.message) <= 300


# An output need not be JSON, and prime_code takes a vertical tab for a line end on one side only.
@given(OUTPUTS, st.sampled_from([c for c in COMPARATORS if c not in ("json", "prime")]))
def test_an_output_equals_itself(output: bytes, name: str) -> None:
    assert compare(output, output, Comparator(name)).ok


@given(OUTPUTS, OUTPUTS)
def test_stricter_comparators_accept_less(output: bytes, expected: bytes) -> None:
    """exact implies lines, lines implies tokens, tokens implies float."""
    names = ("exact", "lines", "tokens", "float")
    accepted = [compare(output, expected, Comparator(name)).ok for name in names]
    assert accepted == sorted(accepted)


@given(
    st.lists(st.lists(st.sampled_from([b"1", b"2.5", b"x"]), min_size=1, max_size=4), max_size=8)
)
def test_blanks_never_matter_to_lines(rows: list[list[bytes]]) -> None:
    plain = b"\n".join(b" ".join(row) for row in rows)
    loose = b"\r\n \n".join(b"\t " + b"  ".join(row) + b" " for row in rows) + b"\n\n"
    assert compare(loose, plain, Comparator()).ok
    assert compare(plain, loose, Comparator()).ok
