"""Limits: merged from the weakest to the strongest, refused where they cannot be honored."""

from __future__ import annotations

import math

import pytest

from verifier.errors import LimitError
from verifier.limits import DEFAULT_LIMITS, MAX_LIMITS, resolve
from verifier.types import LimitOverrides, Limits


def resolved(*overrides: LimitOverrides, **more: str) -> Limits:
    return resolve(*overrides, defaults=DEFAULT_LIMITS, ceilings=MAX_LIMITS, **more)


def test_nothing_given() -> None:
    assert resolved() == resolved(LimitOverrides()) == DEFAULT_LIMITS == Limits()


def test_the_defaults_are_below_the_ceilings() -> None:
    assert (
        resolved(LimitOverrides(**{f: getattr(DEFAULT_LIMITS, f) for f in FIELDS}))
        == DEFAULT_LIMITS
    )


FIELDS = (
    "cpu_time_s", "wall_time_s", "memory_bytes", "output_bytes", "processes", "file_bytes",
    "open_files",
)  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(
    "value",
    ids=lambda value: repr(value)[:10] if not isinstance(value, int) else type(value).__name__,
    argvalues=[
        0,
        -1,
        -0.0,
        math.nan,
        math.inf,
        -math.inf,
        10**5000,
        True,
        False,
        "5",
        b"5",
        [1],
        1e300,
    ],
)
def test_refused_with_the_name(name: str, value: object) -> None:
    with pytest.raises(LimitError) as caught:
        resolved(LimitOverrides(**{name: value}), field="rows[3].limits")  # type: ignore[arg-type]
    assert caught.value.field == f"rows[3].limits.{name}"


@pytest.mark.parametrize("name", FIELDS)
def test_the_ceiling_itself_is_allowed(name: str) -> None:
    ceiling = getattr(MAX_LIMITS, name)
    assert getattr(resolved(LimitOverrides(**{name: ceiling})), name) == ceiling
    with pytest.raises(LimitError, match="over the ceiling"):
        resolved(LimitOverrides(**{name: ceiling + 1}))


def test_types() -> None:
    limits = resolved(LimitOverrides(cpu_time_s=2, memory_bytes=1e8))  # type: ignore[arg-type]
    assert (limits.cpu_time_s, limits.memory_bytes) == (2.0, 100_000_000)
    assert isinstance(limits.cpu_time_s, float)
    assert isinstance(limits.memory_bytes, int)
    with pytest.raises(LimitError, match="whole number"):
        resolved(LimitOverrides(memory_bytes=1.5))  # type: ignore[arg-type]


def test_wall_follows_cpu() -> None:
    assert resolved(LimitOverrides(cpu_time_s=1.0)).wall_time_s == 3.0
    assert resolved(LimitOverrides(cpu_time_s=MAX_LIMITS.cpu_time_s)).wall_time_s == 241.0
    assert resolved(LimitOverrides(cpu_time_s=1.0, wall_time_s=9.0)).wall_time_s == 9.0
    assert resolved(LimitOverrides(wall_time_s=9.0)).cpu_time_s == DEFAULT_LIMITS.cpu_time_s
    low = Limits(cpu_time_s=10.0, wall_time_s=12.0)
    assert (
        resolve(LimitOverrides(cpu_time_s=10.0), defaults=DEFAULT_LIMITS, ceilings=low).wall_time_s
        == 12.0
    )


def test_later_overrides_win() -> None:
    suite = LimitOverrides(cpu_time_s=2.0, wall_time_s=4.0, memory_bytes=1000)
    request = LimitOverrides(cpu_time_s=5.0, output_bytes=7)
    limits = resolved(suite, request)
    assert (limits.cpu_time_s, limits.memory_bytes, limits.output_bytes) == (5.0, 1000, 7)
    assert limits.wall_time_s == 11.0, "the suite's wall limit was meant for its own CPU limit"
    assert resolved(suite, LimitOverrides(wall_time_s=6.0)).wall_time_s == 6.0
    assert (
        resolved(LimitOverrides(cpu_time_s=2.0), LimitOverrides(wall_time_s=6.0)).wall_time_s == 6.0
    )


def test_an_overridden_value_is_checked_too() -> None:
    with pytest.raises(LimitError):
        resolved(LimitOverrides(cpu_time_s=-1.0), LimitOverrides(cpu_time_s=1.0))
