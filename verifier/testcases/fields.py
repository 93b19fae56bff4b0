"""What all formats are made of: reading fields, and building the cases of a suite."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from verifier import _json
from verifier._json import BigInt
from verifier._text import to_utf8
from verifier.errors import SuiteError
from verifier.testcases.sources import needs_objects
from verifier.types import (
    Case,
    Checker,
    Interactor,
    LimitOverrides,
    Suite,
    SuiteKind,
    Trust,
)

MIB = 1024 * 1024
_NAME = re.compile(r"[^\W\d]\w{0,199}(?:(?:\(\))?\.[^\W\d]\w{0,199}){0,8}", re.ASCII)
_SHOWN_KEYS = 8


@dataclass(frozen=True, slots=True)
class Context:
    """What the caller of `load_suite` said beside the ground truth.

    Attributes:
        fn_name: The function that is called, where it was named.
        max_cases: More are refused.
        ours: The decoded value is nobody else's: its parts may be let go of as they are used.
    """

    fn_name: str | None
    max_cases: int
    ours: bool = False


# -- reading


def decoded(value: object, field: str) -> object:
    """A field that may be JSON text of the value, several times over (parquet round trips)."""
    for _ in range(4):
        if isinstance(value, (bytes, bytearray)):
            value = utf8(bytes(value), field)
        if not isinstance(value, str):
            return value
        try:
            value = _json.loads(value)
        except ValueError as error:
            raise SuiteError(field, f"not JSON: {_first_line(error)}") from None
    if isinstance(value, str):
        raise SuiteError(field, "JSON text inside of JSON text, over and over")
    return value


def utf8(data: bytes, field: str) -> str:
    """Decode bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SuiteError(field, "not UTF-8") from None


def sequence(value: object, field: str, max_items: int) -> Sequence[object]:
    """A list, tuple or array (numpy's, as parquet readers give it) of at most `max_items`."""
    if not isinstance(value, (list, tuple)) and hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise SuiteError(field, f"must be a list, not {kind_of(value)}")
    if len(value) > max_items:
        raise SuiteError(field, f"{len(value)} cases are over the limit of {max_items}")
    return value


def mapping(value: object, field: str) -> Mapping[str, object]:
    """An object."""
    if not isinstance(value, Mapping):
        raise SuiteError(field, f"must be an object, not {kind_of(value)}")
    return value


def text(value: object, field: str) -> str:
    """A string."""
    if isinstance(value, bytes):
        return utf8(value, field)
    if not isinstance(value, str):
        raise SuiteError(field, f"must be a string, not {kind_of(value)}")
    return value


def optional_text(row: Mapping[str, object], key: str) -> str | None:
    """A string field that may be absent, null or empty."""
    value = row.get(key)
    return None if value is None else text(value, key) or None


def kind_of(value: object) -> str:
    """How JSON calls the type of a value."""
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", dict: "an object", list: "a list", tuple: "a list"}
    names |= {int: "a number", float: "a number", BigInt: "a number"}
    return names.get(type(value), type(value).__name__)


def keys_of(row: Mapping[str, object]) -> str:
    """The keys of an object, for a message."""
    shown = ", ".join(str(k)[:40] for k in list(row)[:_SHOWN_KEYS])
    return shown + (", ..." if len(row) > _SHOWN_KEYS else "") if row else "none"


def function_name(value: object, field: str) -> str | None:
    """A function's name ("f", "Solution.f", "Solution().f"); None where there is none."""
    if value is None or value == "":
        return None
    name = text(value, field)
    if not _NAME.fullmatch(name):
        raise SuiteError(field, f"not the name of a function: {name[:60]!r}")
    return name


def time_limit(value: object, field: str) -> float | None:
    """Seconds: a number, or {"seconds", "nanos"}. None, or zero, where the data does not say."""
    if isinstance(value, Mapping):
        seconds = _number(value.get("seconds"), f"{field}.seconds") or 0.0
        return seconds + (_number(value.get("nanos"), f"{field}.nanos") or 0.0) / 1e9 or None
    return _number(value, field)


def memory_limit(value: object, field: str, unit: int) -> int | None:
    """Bytes, from a number in `unit`s. None, or zero, where the data does not say."""
    number = _number(value, field)
    if number is None:
        return None
    if math.isinf(number * unit):
        raise SuiteError(field, "too large")
    return max(1, int(number * unit))


def _number(value: object, field: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        shown = value[:40]
        try:
            value = float(value)
        except ValueError:
            raise SuiteError(field, f"not a number: {shown!r}") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SuiteError(field, f"must be a number, not {kind_of(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise SuiteError(field, "too large") from None
    if not math.isfinite(number) or number < 0:
        raise SuiteError(field, f"must be zero or more, not {number}")
    return number or None


def weights(value: object, count: int) -> list[float]:
    """One weight per case; all 1 where the data has none."""
    if value is None:
        return [1.0] * count
    items = sequence(value, "weights", max(count, 1) * 2)
    if len(items) != count:
        raise SuiteError("weights", f"{len(items)} weights for {count} cases")
    numbers = [_number(item, f"weights[{i}]") or 0.0 for i, item in enumerate(items)]
    if not sum(numbers) > 0:
        raise SuiteError("weights", "they are all zero")
    if math.isinf(sum(numbers)):
        raise SuiteError("weights", "their sum is too large")
    return numbers


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200]


# -- building


def stream(value: object, field: str) -> bytes:
    """What a standard input or output holds: text, a list of its lines, or a bare number."""
    if isinstance(value, str):
        return to_utf8(value)
    if isinstance(value, bytes):
        return value
    if not isinstance(value, (list, tuple)) and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return b"\n".join(_line(item, field) for item in value)
    return _scalar(value, field)


def _line(value: object, field: str) -> bytes:
    if isinstance(value, (list, tuple)):
        return b" ".join(_scalar(item, field) for item in value)
    return _scalar(value, field)


def _scalar(value: object, field: str) -> bytes:
    if isinstance(value, str):
        return to_utf8(value)
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bool, BigInt)):
        return str(value).encode()
    if isinstance(value, (int, float)):
        return _json.dumps(value).encode()
    raise SuiteError(field, f"{kind_of(value)} is no text")


def paired(
    inputs: object, outputs: object, context: Context
) -> tuple[Sequence[object], Sequence[object]]:
    """The lists of inputs and outputs: as many of the one as of the other, at least one."""
    for name, value in (("inputs", inputs), ("outputs", outputs)):
        if value is None:
            raise SuiteError(name, "missing")
    inputs = sequence(inputs, "inputs", context.max_cases)
    outputs = sequence(outputs, "outputs", context.max_cases)
    if len(inputs) != len(outputs):
        raise SuiteError("outputs", f"{len(outputs)} outputs for {len(inputs)} inputs")
    if not inputs:
        raise SuiteError("inputs", "no cases")
    return inputs, outputs


def groups(value: object, count: int) -> list[str]:
    """The subtask of each case; all "" where the data has none."""
    if value is None:
        return [""] * count
    items = sequence(value, "groups", max(count, 1) * 2)
    if len(items) != count:
        raise SuiteError("groups", f"{len(items)} groups for {count} cases")
    return [
        str(item) if isinstance(item, int) else text(item, f"groups[{i}]")
        for i, item in enumerate(items)
    ]


def drained(items: Sequence[object], context: Context) -> Iterator[object]:
    """The items; each is let go of when the next one is asked for, where they are ours."""
    if not context.ours or not isinstance(items, list):
        yield from items
        return
    for index in range(len(items)):
        item, items[index] = items[index], None
        yield item


def stdin_suite(
    inputs: Iterable[object],
    outputs: Iterable[object],
    *,
    case_weights: Sequence[float] | None = None,
    case_groups: Sequence[str] | None = None,
    checker: Checker | None = None,
    interactor: Interactor | None = None,
    limits: LimitOverrides = LimitOverrides(),
) -> Suite:
    """A suite whose programs read standard input. Both lists have the same length."""
    cases = []
    for i, (given, wanted) in enumerate(zip(inputs, outputs, strict=True)):
        if wanted is None and checker is None and interactor is None:
            raise SuiteError(f"outputs[{i}]", "missing (null)")
        cases.append(
            Case(
                stdin=b"" if given is None else stream(given, f"inputs[{i}]"),
                expected=b"" if wanted is None else stream(wanted, f"outputs[{i}]"),
                weight=case_weights[i] if case_weights else 1.0,
                group=case_groups[i] if case_groups else "",
            )
        )
    return Suite(
        SuiteKind.STDIN, tuple(cases), checker=checker, interactor=interactor, limits=limits
    )


def assert_suite(
    tests: Sequence[str],
    *,
    fn_name: str | None = None,
    limits: LimitOverrides = LimitOverrides(),
    preamble: str = "",
) -> Suite:
    """A suite of test sources, each of which raises when the program is wrong.

    Args:
        tests: One case each.
        fn_name: The entry point, where it is known.
        limits: Limits of the data's own.
        preamble: Source that the tests need and that is the data's own.
    """
    cases = tuple(Case(test=test) for test in tests)
    trust = Trust.IN_PROCESS if any(map(needs_objects, tests)) else Trust.ISOLATED
    return Suite(
        SuiteKind.ASSERT, cases, fn_name=fn_name, limits=limits, trust=trust, preamble=preamble
    )
