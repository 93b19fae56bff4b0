"""JSON of data that nobody vouched for: any depth, integers of any size, one kind of error.

`json.loads` refuses integers over 4,300 digits (they cost quadratic time to convert) and answers
deep nesting with a RecursionError. Here such an integer becomes a `BigInt`, which keeps its digits:
JSON allows one spelling per integer, so equal digits mean equal numbers.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from verifier import _fast

# Below the interpreter's own limit of 4,300 digits.
_MAX_INT_DIGITS = 4000
_MAX_DEPTH = 400


@dataclass(frozen=True, slots=True)
class BigInt:
    """An integer of more than 4,000 digits, as written."""

    digits: str

    def __str__(self) -> str:
        """The digits."""
        return self.digits


# An integer of 4,000 digits has 40 of them in a row among every hundredth character of the text.
_MANY_DIGITS = re.compile(r"[0-9]{40}")
_STEP = 100


def _parse_int(digits: str) -> int | BigInt:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else BigInt(digits)


_PLAIN, _LARGE = json.JSONDecoder(), json.JSONDecoder(parse_int=_parse_int)


def loads(text: str | bytes) -> object:
    """Decode one JSON value.

    Raises:
        ValueError: It is not JSON, not UTF-8, or nested too deeply.
    """
    try:
        if len(text) >= _fast.LARGE_BYTES:
            # What it refuses is read again: its errors are others, and it has no NaN.
            with contextlib.suppress(ValueError):
                fast: object = _fast.json_value(text if isinstance(text, bytes) else text.encode())
                return fast
        if isinstance(text, bytes):
            text = text.decode()
        value: object = json.loads(text, parse_int=_parse_int if _large(text) else None)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def decoder(text: str) -> Callable[[str, int], tuple[Any, int]]:
    """What reads one value of this text, from a place on: the value, and where it ends.

    Raises `json.JSONDecodeError` there, and RecursionError.
    """
    return (_LARGE if _large(text) else _PLAIN).raw_decode


def _large(text: str) -> bool:
    """It may hold such integers. A parse_int of ours makes reading integers four times as slow."""
    return _MANY_DIGITS.search(text[::_STEP]) is not None


def _big_int(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not JSON")


def dumps(value: object) -> str:
    """Encode to compact JSON. Integers of any size keep their digits; tuples become lists.

    Raises:
        ValueError: A part of it is not JSON-like, or it is nested too deeply.
    """
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True, default=_big_int)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (TypeError, ValueError):
        # Rare: a BigInt or a huge int inside. The slow writer says what is wrong otherwise.
        parts: list[str] = []
        _write(value, parts, 0)
        return "".join(parts)


def _write(value: object, parts: list[str], depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, BigInt):
        parts.append(value.digits)
    elif isinstance(value, dict):
        for n, (key, item) in enumerate(value.items()):
            parts.append(
                ("," if n else "{") + json.dumps(key if isinstance(key, str) else str(key)) + ":"
            )
            _write(item, parts, depth + 1)
        parts.append("}" if value else "{}")
    elif isinstance(value, (list, tuple)):
        for n, item in enumerate(value):
            parts.append("," if n else "[")
            _write(item, parts, depth + 1)
        parts.append("]" if value else "[]")
    elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 13000:
        parts.append(_digits(value))
    else:
        try:
            parts.append(json.dumps(value, ensure_ascii=True))
        except TypeError:
            raise ValueError(f"{type(value).__name__} is not JSON") from None


def _digits(value: int) -> str:
    """Decimal digits of an int without the interpreter's limit on their number."""
    from decimal import Decimal

    return str(Decimal(value))
