"""The scorers of answers by themselves: what each rule is for."""

from __future__ import annotations

import pytest

from verifier.errors import ConfigError, SuiteError
from verifier.scoring import (
    geo3k,
    gsm8k,
    math_dapo,
    math_reward,
    prime_math,
    search_r1_like_qa_em,
)
from verifier.scoring.latex import answer_text, hendrycks


@pytest.mark.parametrize(
    ("response", "truth", "score"),
    [
        ("So it is\n#### 1,234", "1234", 1.0),
        ("#### 5\n#### 6", "6", 1.0),
        ("#### 5\n#### 6", "5", 0.25),
        ("It is 6.", "6", 0.0),
        ("#### 6" + " " * 300, "6", 0.0),
        ("#### -7.", "-7.", 1.0),
    ],
)
def test_gsm8k(response, truth, score):
    assert gsm8k.compute_score(response, truth, format_score=0.25) == score


def test_gsm8k_flexible_takes_the_last_number():
    assert gsm8k.compute_score("6 of 7.", "7.", method="flexible") == 1.0
    assert gsm8k.extract_solution("none", "flexible") is None
    assert gsm8k.extract_solution("...", "flexible") == "..."
    assert gsm8k.extract_solution("5 . .", "flexible") == "5"
    with pytest.raises(ConfigError, match="strict"):
        gsm8k.extract_solution("5", "lenient")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\\frac12", "\\dfrac{1}{2}"),
        ("1/2", "0.5"),
        ("\\frac1{72}", "\\frac{1}{72}"),
        ("\\frac1{72}x", "\\frac{1}{72}x"),
        ("\\sqrt3x", "\\sqrt{3}x"),
        ("x = 5", "5"),
        ("10^{\\circ}", "10"),
        ("5\\text{ cm}", "5"),
        ("50\\%", "50"),
        ("\\left( 1,\n2 \\right)", "(1,2)"),
        (".5 x", "0.5x"),
        ("\\$ 18", "18"),
    ],
)
def test_one_spelling(one, other):
    assert hendrycks(one) == hendrycks(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("0.25", "1/4"), ("2/4", "1/2"), ("xyz=5", "5"), ("012/5", "12/5"), ("50%", "50")],
)
def test_other_spellings_stay(one, other):
    assert hendrycks(one) != hendrycks(other)


@pytest.mark.parametrize("text", ["\\frac", "\\sqrt", "5\\text{ a}\\text{ b}"])
def test_what_cannot_be_spelled(text):
    with pytest.raises(ValueError, match=r"of nothing|two units"):
        hendrycks(text)
    assert math_reward.same_spelling(text, text)
    assert not math_reward.same_spelling(text, "5")


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("\\boxed{1} and \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("$\\boxed 5$ meters", "5"),
        ("\\boxed{1", None),
        ("no box", None),
        ("\\fbox{5}", None),
        ("\\boxed5", None),
    ],
)
def test_boxes(response, answer):
    assert math_reward.boxed_answer(response) == answer
    assert math_reward.compute_score(response, "99") == 0.0


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Answer: $x = 5$", (1.0, "5")),
        ("answer :\n5 units", (1.0, "5")),
        ("Answer: 6", (-1.0, "6")),
        ("Nothing.", (-1.0, "[INVALID]")),
        ("So \\boxed{5}.", (1.0, "5")),
        ("So \\boxed{5}." + " " * 100, (-1.0, "[INVALID]")),
        ("Answer: 6, so \\boxed{5}", (-1.0, "6,so5")),
    ],
)
def test_dapo(response, expected):
    result = math_dapo.compute_score(response, "5")
    assert (result["score"], result["pred"]) == expected
    assert result["acc"] is (expected[0] == 1.0)


def test_dapo_strict():
    assert math_dapo.compute_score("Answer: 5", "5", strict_box_verify=True)["pred"] is None
    assert math_dapo.compute_score("\\boxed{5}", "5", strict_box_verify=True)["score"] == 1.0


def test_question_answering():
    score = search_r1_like_qa_em.compute_score
    truth = {"target": ["The Big Apple", "NYC"]}
    assert score("<answer>big apple!</answer>", truth) == 1.0
    assert score("<answer>x</answer><answer>nyc</answer>", truth) == 1.0
    assert score("<answer>nyc or so</answer>", truth, format_score=0.1) == 0.1
    assert search_r1_like_qa_em.compute_score_subem("<answer>nyc or so</answer>", truth) == 1.0
    assert score("nyc", truth) == 0.0
    assert score("<answer>nyc</answer>" * 11, truth) == 0.25


def test_geometry_has_a_tenth_for_the_form():
    right = "<think>\nHm.\n</think>\n\\boxed{5}"
    assert geo3k.compute_score(right, "5") == pytest.approx(1.0)
    assert geo3k.compute_score("\\boxed{5}", "5") == pytest.approx(0.9)
    assert geo3k.format_reward("<think>\\boxed{5}</think>") == 0.0
    assert geo3k.format_reward("x " + right) == 0.0
    assert geo3k.acc_reward("5", "5", use_boxed=False) == 1.0
    assert geo3k.boxed_answer("\\boxed{5") == "None"


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("The answer is: $5$", "$5$"),
        ("5 is the answer to all", "5"),
        ("so x = 5", "5"),
        ("The answer is \\boxed{x = 5}", "5"),
        ("It will be 5. That was easy", "5"),
        ("\\fbox{7}", "7"),
        ("", ""),
    ],
)
def test_what_is_stated_as_the_answer(response, answer):
    assert prime_math.match_answer(response) == answer


@pytest.mark.parametrize("truth", [None, True, [], ["5"], {}])
@pytest.mark.parametrize("module", [gsm8k, math_reward, math_dapo, prime_math, geo3k])
def test_broken_truths_are_named(module, truth):
    with pytest.raises(SuiteError) as caught:
        module.compute_score("\\boxed{5}", truth)
    assert caught.value.field == "ground_truth"


@pytest.mark.parametrize("truth", [{}, {"target": []}, {"target": [None]}, "Paris", None])
def test_broken_targets_are_named(truth):
    with pytest.raises(SuiteError, match=r"ground_truth(\.target)?: "):
        search_r1_like_qa_em.compute_score("<answer>Paris</answer>", truth)


def test_numbers_are_their_text():
    assert [answer_text(n) for n in (72, 72.0, 0.5, -3)] == ["72", "72", "0.5", "-3"]


@pytest.mark.parametrize(
    "text",
    [
        "<answer>" * 100_000,
        "<answer>" * 100_000 + "</answer>",
        "\\boxed{" * 100_000,
        "{" * 500_000 + "\\boxed{5}",
        "####" * 100_000,
        "is " * 200_000,
        "<think>" * 100_000,
    ],
)
def test_long_responses_are_read_once(text):
    for score in (gsm8k, math_reward, math_dapo, geo3k):
        score.compute_score(text, "a truth")
    prime_math.match_answer(text)
    search_r1_like_qa_em.compute_score(text, {"target": "a"})
