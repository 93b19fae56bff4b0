"""Limits of a run: the defaults, the ceilings, and how what a request asks for is merged with both.

A limit that cannot be honored is refused with its name, never clamped: a clamped limit is a wrong
verdict that nobody hears of.
"""

from __future__ import annotations

import dataclasses
import math

from verifier.errors import LimitError
from verifier.types import LimitOverrides, Limits

_MIB = 1024 * 1024
_GIB = 1024 * _MIB

DEFAULT_LIMITS = Limits()
MAX_LIMITS = Limits(
    cpu_time_s=120.0,
    wall_time_s=300.0,
    memory_bytes=8 * _GIB,
    output_bytes=256 * _MIB,
    processes=1024,
    file_bytes=4 * _GIB,
    open_files=4096,
)

_SECONDS = ("cpu_time_s", "wall_time_s")
_FIELDS = tuple(f.name for f in dataclasses.fields(Limits))


def resolve(
    *overrides: LimitOverrides,
    defaults: Limits = DEFAULT_LIMITS,
    ceilings: Limits = MAX_LIMITS,
    field: str = "limits",
) -> Limits:
    """Merge overrides into the defaults; later ones win, field by field.

    Where a CPU limit is given and no wall limit beside or after it, the wall limit follows from it
    (`Limits.wall_for`), up to the ceiling: a program that was granted 60 s of CPU must not die of a
    wall limit that was meant for 10.

    Args:
        overrides: From the weakest to the strongest (the suite's, then the request's).
        defaults: What holds where nothing is said. Trusted.
        ceilings: The most that may be asked for.
        field: Prefix of field names in errors.

    Raises:
        LimitError: A given value, even one that is overridden, is not a positive finite number of
            the right type, or is over its ceiling.
    """
    values: dict[str, float | int] = {}
    wall_is_given = True
    for override in overrides:
        given = {
            name: getattr(override, name) for name in _FIELDS if getattr(override, name) is not None
        }
        for name, value in given.items():
            values[name] = _checked(f"{field}.{name}", name, value, getattr(ceilings, name))
        if "wall_time_s" in given:
            wall_is_given = True
        elif "cpu_time_s" in given:
            wall_is_given = False
    if not wall_is_given:
        values["wall_time_s"] = min(Limits.wall_for(values["cpu_time_s"]), ceilings.wall_time_s)
    if not values:
        return defaults
    return dataclasses.replace(defaults, **values)  # type: ignore[arg-type]


def _checked(path: str, name: str, value: object, ceiling: float) -> float | int:
    number = _number(path, name, value)
    if number != number:  # noqa: PLR0124 - NaN; math.isnan fails on an int beyond a float's range
        raise LimitError(path, "is not a number")
    if number <= 0:
        raise LimitError(path, "must be positive")
    if number > ceiling:
        raise LimitError(path, f"is over the ceiling of {ceiling}")
    return number


def _number(path: str, name: str, value: object) -> float | int:
    """The value as the field's type. A bool is an int to Python, but not a limit."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise LimitError(path, f"must be a number, not {type(value).__name__}")
    if name in _SECONDS:
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if isinstance(value, float):
        if not value.is_integer():  # NaN and the infinities too: they are caught by the caller
            if math.isfinite(value):
                raise LimitError(path, f"must be a whole number, not {value}")
            return value
        return int(value)
    return value
