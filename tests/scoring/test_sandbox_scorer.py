"""The sandbox scorer's policies, with a fake gateway and a fake local engine."""

from __future__ import annotations

import asyncio
import pickle

import pytest
from scoring_doubles import ADD, TRUTH, FakeAsyncClient, FakeClient, FakeLocal, fault, scored

from verifier.errors import (
    ConfigError,
    GatewayUnavailableError,
    GuaranteeError,
    InfraError,
    LimitError,
    RequestError,
    UnimplementedError,
)
from verifier.scoring import EXTRA_KEYS, FallbackStats, Sample, SandboxScorer
from verifier.types import LimitOverrides, Outcome

DEAD = GatewayUnavailableError("nobody listens at host:1")


def scorer(client=None, local=None, **settings):
    engine = local or FakeLocal()
    return SandboxScorer("host:1", client=client, local=lambda: engine, **settings)


def batch(n, **fields):
    return [
        Sample(data_source="taco", solution_str=ADD, ground_truth=TRUTH, index=i, **fields)
        for i in range(n)
    ]


def test_a_batch_is_one_stream():
    client = FakeClient([scored(1.0), scored(0.5)])
    results = scorer(client).score_batch(batch(2))
    assert [r.score for r in results] == [1.0, 0.5]
    assert [len(b) for b in client.batches] == [2]
    assert [r.fallback for r in results] == ["", ""]
    assert len({r.request_id for r in results}) == 2


def test_what_a_call_carries():
    client = FakeClient([scored()])
    options = {"language": "cpp", "limits": {"cpu_time_s": 2}, "fn_name": "f"}
    its_scorer = scorer(client, limits=LimitOverrides(memory_bytes=7), deadline_s=9.0)
    its_scorer.score(ADD, TRUTH, request_id="r", extra_info={"verifier": options})
    (call,) = client.batches[0]
    assert (call.response, call.ground_truth, call.request_id) == (ADD, TRUTH, "r")
    assert call.language == "cpp"
    assert call.limits == LimitOverrides(cpu_time_s=2.0, memory_bytes=7)
    assert call.fn_name == "f"
    assert call.deadline_s == 9.0


def test_dead_gateway_falls_back_and_says_so():
    local = FakeLocal(scored(1.0), scored(0.5))
    its_scorer = scorer(FakeClient(DEAD), local)
    results = its_scorer.score_batch(batch(2))
    assert [r.score for r in results] == [1.0, 0.5]
    assert {r.scorer for r in results} == {"prime_code"}
    assert all("nobody listens" in r.fallback for r in results)
    counts = its_scorer.stats.snapshot()
    assert (counts.fallback, counts.served) == (2, 0)
    assert counts.reasons == {"GatewayUnavailableError": 2}


def test_only_the_failed_samples_of_a_batch_fall_back_and_the_mix_is_reported(caplog):
    client = FakeClient([scored(0.5), fault(), scored(0.25)])
    its_scorer = scorer(client, FakeLocal(scored(1.0)))
    results = its_scorer.score_batch(batch(3, group="g"))
    assert [r.score for r in results] == [0.5, 1.0, 0.25]
    assert [r.scorer for r in results] == ["sandbox", "prime_code", "sandbox"]
    assert [bool(r.fallback) for r in results] == [False, True, False]
    counts = its_scorer.stats.snapshot()
    assert (counts.served, counts.fallback, counts.mixed_groups) == (2, 1, 1)
    assert "more than one scorer" in caplog.text


def test_a_dead_gateway_is_not_asked_again_before_the_cooldown_is_over():
    now = [100.0]
    client = FakeClient(DEAD, [scored(0.5)])
    its_scorer = scorer(client, cooldown_s=30.0, clock=lambda: now[0])
    assert its_scorer.score(ADD, TRUTH).scorer == "prime_code"
    now[0] = 129.0
    assert "nobody listens" in its_scorer.score(ADD, TRUTH).fallback
    assert len(client.batches) == 1
    now[0] = 131.0
    assert its_scorer.score(ADD, TRUTH).scorer == "sandbox"


def test_a_stream_that_served_nothing_is_a_dead_gateway_too():
    client = FakeClient([fault("GatewayUnavailableError: refused")] * 2)
    its_scorer = scorer(client, clock=lambda: 0.0)
    its_scorer.score_batch(batch(2))
    assert its_scorer.score(ADD, TRUTH).fallback == "GatewayUnavailableError: refused"
    assert len(client.batches) == 1
    half_dead = FakeClient([fault("GatewayUnavailableError: refused"), scored()], [scored()])
    its_scorer = scorer(half_dead, clock=lambda: 0.0)
    its_scorer.score_batch(batch(2))
    assert its_scorer.score(ADD, TRUTH).fallback == ""


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (
            "LimitError: limits.cpu_time_s: over",
            LimitError,
            r"samples\[1\]\.limits\.cpu_time_s: over",
        ),
        ("RequestError: language: no such", RequestError, r"samples\[1\]\.language: no such"),
        ("UnimplementedError: checkers", UnimplementedError, r"samples\[1\]: checkers"),
    ],
)
@pytest.mark.parametrize("policy", ["fallback", "mask", "raise"])
def test_the_callers_fault_within_a_stream_is_raised_under_any_policy(
    error, raised, message, policy
):
    its_scorer = scorer(FakeClient([scored(), fault(error)]), on_unavailable=policy)
    with pytest.raises(raised, match=message):
        its_scorer.score_batch(batch(2))


def test_a_message_that_is_too_big_for_the_gateway_is_scored_here():
    its_scorer = scorer(FakeClient([fault("RequestError: message: 9 bytes, and it takes 8")]))
    assert its_scorer.score(ADD, TRUTH).scorer == "prime_code"


def test_raise_names_the_sample_and_asks_nobody_else():
    local = FakeLocal()
    its_scorer = scorer(
        FakeClient([scored(), fault("SlotError: x")]), local, on_unavailable="raise"
    )
    with pytest.raises(InfraError, match=r"1 of 2 .*sample 1: SlotError: x"):
        its_scorer.score_batch(batch(2))
    assert local.tasks == []
    assert its_scorer.stats.snapshot().raised == 1


def test_mask_leaves_a_result_without_a_score():
    its_scorer = scorer(FakeClient(DEAD), on_unavailable="mask")
    results = its_scorer.score_batch(batch(2))
    assert [r.outcome for r in results] == [Outcome.INFRA_ERROR] * 2
    assert [r.score for r in results] == [None, None]
    assert its_scorer.stats.snapshot().masked == 2


def test_a_fallback_that_fails_too_raises_with_both_reasons():
    its_scorer = scorer(FakeClient(DEAD), FakeLocal(fault("SlotError: here too")))
    with pytest.raises(InfraError, match=r"nobody listens.*then here: SlotError: here too"):
        its_scorer.score(ADD, TRUTH)


def test_missing_guarantees_raise_and_say_why_the_fallback_was_needed():
    def refuse():
        raise GuaranteeError("no seccomp; type: --accept seccomp", ("seccomp",))

    its_scorer = SandboxScorer("host:1", client=FakeClient(DEAD), local=refuse)
    with pytest.raises(GuaranteeError, match=r"nobody listens.*--accept seccomp") as caught:
        its_scorer.score(ADD, TRUTH)
    assert caught.value.missing == ("seccomp",)


def test_errors_of_the_caller_are_not_a_reason_to_fall_back():
    its_scorer = scorer(FakeClient(RequestError("language", "no such")))
    with pytest.raises(RequestError):
        its_scorer.score(ADD, TRUTH)


def test_broken_data_is_no_reason_to_fall_back_and_no_score():
    its_scorer = scorer(FakeClient([]), FakeLocal())
    result = its_scorer.score(ADD, None)
    assert (result.outcome, result.score) == (Outcome.INVALID_SUITE, None)
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert "nested" in its_scorer.score(ADD, deep).error


def test_without_a_server_this_host_scores_and_it_is_no_fallback():
    local = FakeLocal(scored(0.5))
    its_scorer = SandboxScorer(None, local=lambda: local)
    result = its_scorer.score(ADD, TRUTH)
    assert (result.score, result.scorer, result.fallback) == (0.5, "prime_code", "")
    assert its_scorer.stats.snapshot().served == 1


def test_without_a_server_mask_still_masks_faults():
    its_scorer = SandboxScorer(None, local=lambda: FakeLocal(fault()), on_unavailable="mask")
    assert its_scorer.score(ADD, TRUTH).outcome is Outcome.INFRA_ERROR


def test_no_samples_ask_nobody():
    client = FakeClient()
    assert scorer(client).score_batch([]) == []
    assert client.batches == []


def test_verls_signature_gives_exactly_the_columns():
    info = scorer(FakeClient([scored(0.5, passed=1, total=2)]))("taco", ADD, TRUTH, {"index": 1})
    assert tuple(info) == EXTRA_KEYS
    assert (info["score"], info["passed"], info["total"]) == (0.5, 1, 2)
    with pytest.raises(ConfigError, match="continuous="):
        scorer(FakeClient())("taco", ADD, TRUTH, continuous=True)


def test_async_twins():
    async def main():
        client = FakeAsyncClient([scored(0.5), fault()], DEAD)
        local = FakeLocal(scored(1.0), scored(0.25))
        its_scorer = SandboxScorer("host:1", async_client=client, local=lambda: local)
        first = await its_scorer.ascore_batch(batch(2))
        second = await its_scorer.ascore(ADD, TRUTH, request_id="r")
        await its_scorer.aclose()
        return [r.score for r in first], second, client.closed

    scores, second, closed = asyncio.run(main())
    assert scores == [0.5, 1.0]
    assert (second.score, second.scorer, second.request_id) == (0.25, "prime_code", "r")
    assert closed


def test_shared_counters_and_closing():
    stats, client = FallbackStats(), FakeClient([scored()])
    its_scorer = scorer(client, stats=stats)
    its_scorer.score(ADD, TRUTH)
    its_scorer.close()
    assert stats.snapshot().served == 1
    assert client.closed


def test_travels_by_pickle_without_channels_and_counters():
    its_scorer = SandboxScorer("verifier://host:1/", on_unavailable="mask")
    its_scorer.stats.count("served", 3)
    twin = pickle.loads(pickle.dumps(its_scorer))
    assert (twin.server, twin.on_unavailable) == ("host:1", its_scorer.on_unavailable)
    assert twin.stats.snapshot().served == 0


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        ("verifier://h:1", "h:1"),
        ("grpc://h:1/", "h:1"),
        ("h:1", "h:1"),
        ("unix:///run/v.sock", "unix:///run/v.sock"),
        ("", None),
        (None, None),
    ],
)
def test_addresses(given, parsed):
    assert SandboxScorer(given).server == parsed


def test_wrong_settings():
    with pytest.raises(ConfigError, match="HTTP"):
        SandboxScorer("http://h:1/run_code")
    with pytest.raises(ConfigError, match="did you mean 'raise'"):
        SandboxScorer(None, on_unavailable="raises")


def test_the_counter_does_not_grow_with_messages():
    stats = FallbackStats()
    for number in range(1000):
        stats.count("masked", reason=f"reason {number}")
    reasons = stats.snapshot().reasons
    assert len(reasons) <= 101
    assert sum(reasons.values()) == 1000
