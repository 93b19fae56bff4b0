"""What a row may say, and how samples become tasks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scoring_doubles import ADD, TRUTH

from verifier.errors import RequestError
from verifier.scoring.sample import (
    CallOptions,
    Sample,
    build_tasks,
    merge_limits,
    plain,
    read_limits,
    read_options,
)
from verifier.types import LimitOverrides, Outcome, Result, ScoreTask


def sample(truth=TRUTH, **fields):
    return Sample(data_source="taco", solution_str=ADD, ground_truth=truth, **fields)


def test_options_of_a_row():
    given = {"language": "cpp", "limits": {"cpu_time_s": 2, "memory_mb": 0.5}, "fn_name": "f"}
    assert read_options(given) == CallOptions(
        language="cpp",
        limits=LimitOverrides(cpu_time_s=2.0, memory_bytes=512 * 1024),
        fn_name="f",
    )
    assert read_options(None) == CallOptions()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"langage": "cpp"}, r"verifier\.langage: .*did you mean 'language'"),
        ({"language": 3}, r"verifier\.language"),
        ([], r"expected a mapping, not a list"),
        ({"limits": {"cpu": 1}}, r"limits\.cpu"),
        ({"limits": {"cpu_time_s": "1"}}, r"limits\.cpu_time_s: expected a number"),
        ({"limits": {"processes": 1.5}}, r"limits\.processes: expected a whole number"),
        ({"limits": {"memory_mb": float("inf")}}, r"limits\.memory_mb: expected a finite number"),
        ({"limits": {"processes": True}}, r"limits\.processes: expected a number"),
    ],
)
def test_malformed_options_are_named(given, message):
    with pytest.raises(RequestError, match=message):
        read_options(given)


def test_options_of_a_sample_name_the_sample():
    bad = sample(extra_info={"verifier": {"x": 1}}, index=5)
    with pytest.raises(RequestError, match=r"samples\[5\]\.extra_info\.verifier\.x"):
        build_tasks([bad])


def test_another_language_key_of_a_data_set_is_not_ours():
    (task,) = build_tasks([sample(extra_info={"language": "en"})])
    assert isinstance(task, ScoreTask)
    assert task.language is None


def test_limits_merge_field_by_field():
    base = LimitOverrides(cpu_time_s=1.0, memory_bytes=1)
    over = LimitOverrides(memory_bytes=2, processes=3)
    assert merge_limits(base, over) == LimitOverrides(cpu_time_s=1.0, memory_bytes=2, processes=3)
    assert read_limits(over) is over


def test_broken_data_is_a_result_in_its_place():
    broken = json.dumps({"inputs": ["1"], "outputs": []})
    tasks = build_tasks([sample(), sample(broken, request_id="r"), sample()])
    assert [type(task) for task in tasks] == [ScoreTask, Result, ScoreTask]
    assert tasks[1].outcome is Outcome.INVALID_SUITE
    assert tasks[1].request_id == "r"
    assert tasks[1].error


def test_responses_to_one_prompt_share_the_suite():
    first, second = build_tasks([sample(), sample(str(TRUTH))])
    assert first.suite is second.suite


def test_plain_data_of_numpy():
    truth = {"inputs": np.array(["1", "2"], dtype=object), "n": np.int64(3), "t": (1, None)}
    assert plain(truth) == {"inputs": ["1", "2"], "n": 3, "t": [1, None]}


def test_numpy_ground_truth_is_scored():
    truth = {"inputs": np.array(["1 2"]), "outputs": np.array(["3"])}
    (task,) = build_tasks([sample(truth)])
    assert task.suite.cases[0].stdin == b"1 2"
