"""One shape for whatever a scorer returns; tests/rewards has more of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.errors import RequestError
from verifier.scoring.record import (
    EXTRA_KEYS,
    STRING_KEYS,
    as_number,
    from_result,
    from_value,
    infra_fault,
)
from verifier.types import Outcome, Result, Status, Timing


def test_keys_are_the_designs_and_reward_is_not_among_them():
    assert EXTRA_KEYS == (
        "score",
        "acc",
        "passed",
        "total",
        "valid",
        "infra_error",
        "fallback",
        "cpu_time_ms",
        "wall_time_ms",
        "queue_ms",
        "latency_ms",
        "status",
        "outcome",
        "scorer",
        "request_id",
    )
    assert tuple(from_value(1.0).extra_info()) == EXTRA_KEYS


def test_accuracy_is_whether_all_cases_passed():
    partly = Result(outcome=Outcome.SCORED, score=0.5, status=Status.WRONG_ANSWER)
    fully = Result(outcome=Outcome.SCORED, score=1.0, status=Status.ACCEPTED)
    assert [from_result(r).acc for r in (partly, fully)] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("outcome", "infra"), [(Outcome.INFRA_ERROR, 1), (Outcome.INVALID_SUITE, 0)]
)
def test_results_without_a_score_are_not_valid(outcome, infra):
    record = from_result(Result(outcome=outcome, error="why", timing=Timing(total_s=0.5)))
    assert (record.score, record.valid, record.infra_error) == (0.0, 0, infra)
    assert record.outcome == outcome.value
    assert record.latency_ms == 500.0
    assert record.error == "why"


def test_a_record_survives_the_way_through_a_dict():
    for record in (
        from_value(0.25, scorer="mine"),
        infra_fault("x", scorer="mine", request_id="r"),
        from_result(Result(outcome=Outcome.INVALID_SUITE, error="outputs: none")),
        from_result(Result(outcome=Outcome.SCORED, score=1.0, status=Status.ACCEPTED, passed=2)),
    ):
        assert from_value(record.extra_info()).extra_info() == record.extra_info()


def test_a_dict_cannot_make_a_score_of_what_is_none():
    record = from_value({"score": None, "valid": 1, "infra_error": 0, "outcome": "SCORED"})
    assert (record.valid, record.infra_error, record.outcome) == (0, 1, "INFRA_ERROR")


def test_a_dict_without_score_names_its_keys():
    with pytest.raises(RequestError, match=r"s\[2\].*keys: acc, points"):
        from_value({"points": 3, "acc": 1}, where="s[2]")


def test_strings_are_cut_short():
    record = from_value({"score": 1, "status": "x" * 100_000, "scorer": None})
    assert all(len(getattr(record, key)) <= 64 for key in STRING_KEYS)


def test_wrong_types_in_columns_fall_back_to_the_default():
    record = from_value({"score": 1, "passed": "many", "cpu_time_ms": math.nan, "status": None})
    assert (record.passed, record.cpu_time_ms, record.status) == (0, 0.0, "")


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from([*EXTRA_KEYS, "x"]), inner)
    ),
    max_leaves=8,
)


@given(JSONISH)
def test_any_value_gives_finite_numbers_and_short_strings_or_names_the_missing_score(value):
    try:
        info = from_value(value).extra_info()
    except RequestError:
        return
    for key in EXTRA_KEYS:
        if key in STRING_KEYS:
            assert isinstance(info[key], str)
            assert len(info[key]) <= 64
        else:
            assert isinstance(info[key], (int, float))
            assert math.isfinite(info[key])
    assert info["valid"] or info["score"] == 0.0


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (True, 1.0),
        (3, 3.0),
        (0.5, 0.5),
        ("1", None),
        (None, None),
        (math.inf, None),
        (10**400, None),
    ],
)
def test_as_number(value, number):
    assert as_number(value) == number
