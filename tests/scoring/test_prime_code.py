"""What `prime_code.shape` makes of a result; nothing is run (tests/verl holds it against verl)."""

from __future__ import annotations

import inspect
import json

import pytest

from verifier.errors import InfraError, SuiteError
from verifier.scoring import prime_code
from verifier.testcases import load_suite
from verifier.types import CaseResult, Outcome, Result, Status

OK, WRONG = Status.ACCEPTED, Status.WRONG_ANSWER


def result(*statuses, **fields):
    cases = tuple(CaseResult(i, status, **fields) for i, status in enumerate(statuses))
    worst = next((s for s in statuses if s is not OK), OK)
    return Result(Outcome.SCORED, score=0.0, status=worst, cases=cases)


def shape(truth, *statuses, continuous=True, **fields):
    return prime_code.shape(
        result(*statuses, **fields), load_suite(truth), continuous=continuous, test_cases=truth
    )


def sums(count):
    texts = [str(i) for i in range(count)]
    return {"inputs": texts, "outputs": texts}


def test_the_signature_begins_as_verls_does():
    names = list(inspect.signature(prime_code.compute_score).parameters.values())
    assert [p.name for p in names[:3]] == ["completion", "test_cases", "continuous"]
    assert names[2].default is False
    assert all(p.kind is p.KEYWORD_ONLY for p in names[3:])


@pytest.mark.parametrize("continuous", [True, False])
def test_all_pass(continuous):
    assert shape(sums(12), *[OK] * 12, continuous=continuous) == (True, {})


def test_continuous_counts_the_first_ten():
    score, metadata = shape(sums(12), *[OK] * 9, WRONG, WRONG, WRONG)
    assert (score, len(metadata)) == (0.9, 10)
    score, metadata = shape(sums(12), *[OK] * 11, WRONG)
    assert (score, type(score), len(metadata)) == (1.0, float, 10)


def test_without_continuous_it_is_false_and_all_cases():
    score, metadata = shape(sums(12), *[OK] * 11, WRONG, continuous=False)
    assert (score, len(metadata)) == (False, 12)
    assert metadata[0] == {"test_case": {"input": "0", "output": "0", "res": "[True]"}}


def test_codes():
    statuses = (WRONG, Status.RUNTIME_ERROR, Status.TIME_LIMIT, Status.MEMORY_LIMIT)
    _, metadata = shape(sums(6), *statuses, Status.OUTPUT_LIMIT, Status.COMPILE_ERROR)
    codes = [entry["test_case"]["res"] for entry in metadata]
    assert codes == ["[False]", "[-1]", "[-1]", "[-1]", "[-1]", "[-2]"]
    assert [sorted(entry) for entry in metadata[:2]] == [
        ["error_message", "expected", "inputs", "output", "test_case"],
        ["error", "test_case", "traceback"],
    ]


def test_a_response_without_code_does_not_compile():
    no_code = Result(Outcome.SCORED, score=0.0, status=Status.NO_CODE)
    score, metadata = prime_code.shape(no_code, load_suite(sums(2)), continuous=True)
    assert score == 0.0
    assert [entry["test_case"]["res"] for entry in metadata] == ["[-2]", "[-2]"]


def test_long_texts_are_cut_in_the_middle():
    truth = {"inputs": ["a" * 150 + "b" * 151], "outputs": ["c" * 100 + "d" * 101]}
    _, (entry,) = shape(truth, WRONG, stdout=b"e" * 201)
    cut = "...(truncated) ..."
    assert entry["inputs"] == "a" * 150 + cut + "b" * 150
    assert entry["expected"] == "c" * 100 + cut + "d" * 100
    assert entry["output"] == "e" * 100 + cut + "e" * 100
    assert entry["test_case"]["input"] == truth["inputs"][0]


def test_arguments_are_shown_as_the_data_has_them_and_share_the_room():
    arguments = [json.dumps("x" * 100), json.dumps([1, 2]), "3", "4", "5", "6", "7"]
    truth = {"fn_name": "f", "inputs": ["\n".join(arguments)], "outputs": ["0"]}
    _, (entry,) = shape(json.dumps(truth), WRONG)
    first = '"' + "x" * 20 + "...(truncated) ..." + "x" * 20 + '"'
    assert entry["inputs"].split("\n") == [first, *arguments[1:]]
    assert entry["test_case"]["input"] == truth["inputs"][0]
    _, (twice,) = shape(json.dumps(json.dumps(truth)), WRONG)
    assert twice == entry


def test_other_formats_show_what_was_read():
    truth = {"test_cases": [{"type": "stdin_stdout", "input": "2 3", "output": "5"}]}
    _, (entry,) = shape(truth, WRONG)
    assert (entry["inputs"], entry["expected"]) == ("2 3", "5")
    _, (entry,) = shape({"assert_case": ["assert f(1) == 2"]}, WRONG)
    assert entry["test_case"]["input"] == "assert f(1) == 2"


def test_no_verdict_is_no_score():
    for outcome, error in ((Outcome.INFRA_ERROR, InfraError), (Outcome.INVALID_SUITE, SuiteError)):
        with pytest.raises(error, match="why"):
            prime_code.shape(Result(outcome, error="why"), load_suite(sums(1)), continuous=True)
