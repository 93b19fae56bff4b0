"""The routing table and verl's `default_compute_score`."""

from __future__ import annotations

import asyncio
import functools
import threading

import pytest
from scoring_doubles import ADD, TRUTH, FakeClient, FakeLocal, fault, scored

from verifier.errors import ConfigError, InfraError, RequestError, SuiteError
from verifier.scoring import (
    CODE_SOURCES,
    EXTRA_KEYS,
    DefaultScorer,
    Sample,
    SandboxScorer,
    answer_scorer,
    default_compute_score,
    default_compute_score_async,
    find_scorer,
    known_sources,
    register_scorer,
    routing,
)
from verifier.types import ScorePolicy


@pytest.fixture(autouse=True)
def own_tables(monkeypatch):
    monkeypatch.setattr(routing, "_routes", dict(routing._routes))
    monkeypatch.setattr(routing, "_scorers", {})


@pytest.fixture
def served(monkeypatch):
    """What code scorers are asked, instead of a gateway and this host."""
    made = []

    def make(server, **settings):
        made.append((server, settings))
        answers = served_answers or [scored()]
        return SandboxScorer(
            server,
            client=FakeClient(*[[a] for a in answers]) if server else None,
            local=lambda: FakeLocal(*answers),
            on_unavailable=settings["on_unavailable"],
        )

    served_answers: list = []
    monkeypatch.setattr(routing, "SandboxScorer", make)
    make.made, make.answers = made, served_answers
    return make


@pytest.mark.parametrize("source", CODE_SOURCES)
def test_code_sources_go_to_this_host_without_an_address(served, source):
    info = default_compute_score(source, ADD, TRUTH)
    assert tuple(info) == EXTRA_KEYS
    assert (info["score"], info["scorer"]) == (1.0, "prime_code")


def test_an_address_by_either_name_goes_to_the_gateway(served):
    for kwargs in ({"server": "h:1"}, {"sandbox_fusion_url": "verifier://h:1"}):
        info = default_compute_score("taco", ADD, TRUTH, {}, concurrent_semaphore=1, **kwargs)
        assert info["scorer"] == "sandbox"
        routing._scorers.clear()
    assert [server for server, _ in served.made] == ["h:1", "h:1"]
    with pytest.raises(ConfigError, match="differ"):
        default_compute_score("taco", ADD, TRUTH, server="h:1", sandbox_fusion_url="verifier://h:2")
    with pytest.raises(ConfigError, match="verifier://HOST:PORT"):
        default_compute_score("taco", ADD, TRUTH, sandbox_fusion_url="http://h:1/run_code")


def test_settings_are_kept_per_scorer_and_scorers_are_kept(served):
    for _ in range(2):
        default_compute_score("taco", ADD, TRUTH, memory_limit_mb=64, on_unavailable="raise")
    default_compute_score("apps", ADD, TRUTH)
    assert len(served.made) == 2
    settings = served.made[0][1]
    assert settings["limits"].memory_bytes == 64 * 1024 * 1024
    assert settings["on_unavailable"].value == "raise"


def test_training_stops_early_and_goes_first(served):
    default_compute_score("taco", ADD, TRUTH)
    default_compute_score("taco", ADD, TRUTH, max_time_limit_hits=0, total_cpu_time_s=60)
    default_compute_score("taco", ADD, TRUTH, client_id="run-7")
    settings = [settings for _, settings in served.made]
    assert [s["policy"] for s in settings] == [
        ScorePolicy(max_time_limit_hits=2),
        ScorePolicy(total_cpu_time_s=60.0),
        ScorePolicy(max_time_limit_hits=2),
    ]
    assert {s["priority"] for s in settings} == {10}
    assert [s["client_id"] for s in settings] == ["", "", "run-7"]
    for wrong in ({"max_time_limit_hits": -1}, {"total_cpu_time_s": "much"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            default_compute_score("taco", ADD, TRUTH, **wrong)


def test_an_argument_that_no_scorer_has_is_refused(served):
    with pytest.raises(ConfigError, match="memory_limit_gb"):
        default_compute_score("taco", ADD, TRUTH, memory_limit_gb=1)


def test_a_fault_is_raised_even_where_the_scorer_masks(served):
    served.answers.append(fault("SlotError: x"))
    with pytest.raises(InfraError):
        default_compute_score("taco", ADD, TRUTH, server="h:1", on_unavailable="mask")


def test_broken_data_is_marked(served):
    info = default_compute_score("taco", ADD, "{}")
    assert (info["score"], info["valid"], info["infra_error"]) == (0.0, 0, 0)
    assert info["outcome"] == "INVALID_SUITE"


def test_unknown_source_names_the_nearest():
    with pytest.raises(RequestError, match="'tacoo'; did you mean 'taco'"):
        default_compute_score("tacoo", ADD, TRUTH)
    with pytest.raises(RequestError, match="None"):
        default_compute_score(None, ADD, TRUTH)


def test_a_scorer_is_registered_in_one_line():
    register_scorer("my/set", lambda *_, bonus=0.0: (0.5 + bonus, [{}]))
    assert default_compute_score("my/set", "x", "y") == 0.5
    assert default_compute_score("my/set", "x", "y", bonus=0.25) == 0.75
    with pytest.raises(ConfigError, match="replace=True"):
        register_scorer("my/set", len)
    register_scorer("my/set", lambda *_: {"score": 1, "mine": 2}, replace=True)
    assert default_compute_score("my/set", "x", "y") == {"score": 1, "mine": 2}


def test_prefixes_after_exact_names_and_the_longest_first():
    register_scorer("exam", lambda *_: 1.0, prefix=True)
    register_scorer("exam_new", lambda *_: 2.0, prefix=True)
    register_scorer("exam2024", lambda *_: 3.0)
    answers = [find_scorer(s)() for s in ("exam2025", "exam_new_1", "exam2024")]
    assert answers == [1.0, 2.0, 3.0]
    assert {"exam*", "aime*"} <= set(known_sources())


def test_default_scorer_batches_code_and_only_code(served):
    register_scorer("qa", lambda *_: 0.25)
    scorer = DefaultScorer(server="h:1")
    code, qa = (Sample(s, ADD, TRUTH, index=i) for i, s in enumerate(("taco", "qa")))
    assert (scorer.batches(code), scorer.batches(qa)) == (True, False)
    assert [r.score for r in scorer.score_batch([code])] == [1.0]
    assert scorer("qa", "x", "y") == 0.25
    with pytest.raises(RequestError, match=r"samples\[7\]\.data_source"):
        scorer.batches(Sample("nope", "", "", index=7))


@pytest.mark.parametrize(
    ("source", "response", "truth", "score"),
    [
        ("openai/gsm8k", "#### 5", "5", 1.0),
        ("lighteval/MATH", "\\boxed{5}", "5", 1.0),
        ("DigitalLearningGmbH/MATH-lighteval", "\\boxed{6}", "5", 0.0),
        ("HuggingFaceH4/MATH-500", "\\boxed{5}", 5, 1.0),
        ("numina_olympiads", "The answer is 5", "5", 1.0),
        ("hiyouga/geometry3k", "\\boxed{5}", "5", 0.9),
        ("searchR1_bamboogle", "<answer>Five</answer>", {"target": ["five"]}, 1.0),
    ],
)
async def test_answers_are_scored_by_their_source(source, response, truth, score):
    assert default_compute_score(source, response, truth) == score
    assert default_compute_score(source, response.encode(), truth) == score
    assert await default_compute_score_async(source, response, truth) == score


@pytest.mark.parametrize("source", ["math", "math_dapo", "math_dapo_reasoning", "aime", "aime2031"])
def test_dapos_sources_give_its_dict(source):
    expected = {"score": 1.0, "acc": True, "pred": "5"}
    assert default_compute_score(source, "Answer: 5", "5") == expected


async def test_broken_truths_of_answers_are_marked():
    for info in (
        default_compute_score("math", "Answer: 5", None),
        await default_compute_score_async("math", "Answer: 5", None),
    ):
        assert (info["score"], info["valid"], info["outcome"]) == (0.0, 0, "INVALID_SUITE")
    scorer = DefaultScorer()
    with pytest.raises(SuiteError, match="ground_truth"):
        scorer("math", "Answer: 5", None)
    with pytest.raises(SuiteError, match="ground_truth"):
        await scorer.ascore("math", "Answer: 5", None)


def test_answers_take_no_settings_but_verls():
    shared = {
        "sandbox_fusion_url": None,
        "concurrent_semaphore": None,
        "memory_limit_mb": 1024,
        "reward_router_address": "h:1",
        "reward_model_tokenizer": object(),
    }
    assert default_compute_score("openai/gsm8k", "#### 5", "5", {}, **shared) == 1.0
    with pytest.raises(ConfigError, match="format_score= is not an argument"):
        default_compute_score("openai/gsm8k", "#### 5", "5", format_score=0.1)


class Judge:
    async def __call__(self, data_source, solution_str, ground_truth, extra_info=None, bonus=0.0):
        await asyncio.sleep(0)
        return 0.5 + bonus


async def judge(*args, **kwargs):
    return await Judge()(*args, **kwargs)


@pytest.mark.parametrize("scorer", [judge, Judge(), functools.partial(judge, bonus=0.0)])
async def test_coroutine_functions_score_from_both_sides(scorer):
    register_scorer("judged", scorer)
    assert await default_compute_score_async("judged", "x", "y", bonus=0.25) == 0.75
    # On a thread that has an event loop already.
    assert default_compute_score("judged", "x", "y") == 0.5

    async def fails(*_):
        raise ValueError("no")

    register_scorer("fails", fails)
    with pytest.raises(ValueError, match="no"):
        default_compute_score("fails", "x", "y")


async def test_functions_that_may_block_run_in_a_thread():
    threads = []
    register_scorer("blocks", answer_scorer(lambda *_: threads.append(threading.get_ident()) or 1))
    assert await default_compute_score_async("blocks", "x", "y") == 1.0
    assert default_compute_score("blocks", "x", "y") == 1.0
    assert (threads[0] != threading.get_ident(), threads[1]) == (True, threading.get_ident())


async def test_code_is_scored_on_an_event_loop(served):
    served.answers.append(scored())
    info = await default_compute_score_async("taco", ADD, TRUTH)
    assert (tuple(info), info["score"], info["scorer"]) == (EXTRA_KEYS, 1.0, "prime_code")
    scorer = DefaultScorer()
    (result,) = await scorer.ascore_batch([Sample("taco", ADD, TRUTH)])
    assert result.score == 1.0
    with pytest.raises(ConfigError, match="memory_limit_gb"):
        await default_compute_score_async("taco", ADD, TRUTH, memory_limit_gb=1)
