"""Single calls: what is sent, what comes back, what is raised."""

from __future__ import annotations

import grpc
import numpy as np
import pytest

from verifier import errors
from verifier.client import AsyncClient, RetryPolicy
from verifier.client.retry import Backoff, call_with_retries
from verifier.types import (
    Checker,
    Comparator,
    Interactor,
    LimitOverrides,
    Outcome,
    ScorePolicy,
    Status,
)
from verifier.v1 import verifier_pb2 as pb

TRUTH = {"inputs": ["2 3\n"], "outputs": ["5\n"]}


@pytest.fixture
async def client(server):
    async with AsyncClient(server.address, timeout_s=60, client_id="me") as made:
        yield made


async def test_every_argument_is_sent(server, client):
    result = await client.score(
        "response",
        TRUTH,
        language="py",
        limits=LimitOverrides(cpu_time_s=2.0, processes=3),
        request_id="x",
        priority=-4,
        fn_name="f",
        ground_truth_format="prime",
        comparator=Comparator("float", 0.1, 0.2),
        checker=Checker("c", limits=LimitOverrides(wall_time_s=3.0), full_points=2.0),
        interactor=Interactor(b"i", "c", "kattis", files=(("a", b"b"),), args=("x", "y")),
        policy=ScorePolicy("first_n", 3),
        extraction_policy="first",
        excerpt_bytes=0,
        data_source="taco",
        extra_info=b"{}",
        no_cache=True,
    )
    assert (result.outcome, result.score, result.request_id) == (Outcome.SCORED, 1.0, "x")
    (sent,) = server.scripted.requests
    assert sent == pb.ScoreRequest(
        request_id="x",
        client_id="me",
        priority=-4,
        response=b"response",
        ground_truth=b'{"inputs": ["2 3\\n"], "outputs": ["5\\n"]}',
        ground_truth_format="prime",
        data_source="taco",
        language="py",
        fn_name="f",
        extraction_policy="first",
        limits=pb.Limits(cpu_time_s=2.0, processes=3),
        comparator=pb.Comparator(name="float", abs_tol=0.1, rel_tol=0.2),
        checker=pb.Helper(
            language="python",
            source=b"c",
            limits=pb.Limits(wall_time_s=3.0),
            style="function",
            full_points=2.0,
        ),
        interactor=pb.Helper(
            language="c",
            source=b"i",
            style="kattis",
            files={"a": b"b"},
            args=["x", "y"],
            full_points=1.0,
        ),
        score_policy=pb.ScorePolicy(name="first_n", n=3),
        excerpt_bytes=0,
        extra_info=b"{}",
        no_cache=True,
    )
    assert sent.HasField("excerpt_bytes")


@pytest.mark.parametrize(
    ("truth", "sent"),
    [
        ("text", b"text"),
        (b"\xff", b"\xff"),
        ("lone \ud800", b"lone \xed\xa0\x80"),
        (["a", 1], b'["a", 1]'),
        ({"inputs": np.array(["1"]), "n": np.int64(3)}, b'{"inputs": ["1"], "n": 3}'),
    ],
)
async def test_a_ground_truth_travels_as_json_text(server, client, truth, sent):
    await client.score("r", truth)
    assert server.scripted.requests[0].ground_truth == sent


async def test_a_response_of_any_kind_travels(server, client):
    await client.score("lone \ud800", "t")
    await client.score(b"\xff\x00", "t")
    first, second = server.scripted.requests
    assert (first.response, second.response) == (b"lone \xed\xa0\x80", b"\xff\x00")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "ground_truth"),
        ({"ground_truth": "x", "suite_digest": "y"}, "ground_truth"),
        ({"ground_truth": {"a": object()}}, "ground_truth"),
        ({"ground_truth": "x", "limits": LimitOverrides(processes=-1)}, "limits.processes"),
        ({"ground_truth": "x", "limits": LimitOverrides(memory_bytes=1.5)}, "limits.memory_bytes"),
        ({"ground_truth": "x", "limits": LimitOverrides(cpu_time_s="1")}, "limits.cpu_time_s"),
        ({"ground_truth": "x", "priority": 2**40}, "priority"),
        ({"ground_truth": "x", "excerpt_bytes": -1}, "excerpt_bytes"),
        ({"ground_truth": "x", "request_id": "\ud800"}, "request_id"),
    ],
)
async def test_what_cannot_be_sent_is_refused_by_name(server, client, arguments, field):
    with pytest.raises(errors.RequestError) as caught:
        await client.score("r", **arguments)
    assert caught.value.field == field
    assert server.scripted.requests == []


@pytest.mark.parametrize(
    "error",
    [
        errors.RequestError("language", "unknown"),
        errors.LimitError("limits.cpu_time_s", "too much"),
        errors.UnknownSuiteError("suite_digest", "upload it"),
        errors.UnimplementedError("checker"),
        errors.DeadlineError("late"),
        errors.RequestError("response", "\u2028 \N{SNOWMAN} % newline\n" + "x" * 5000),
    ],
)
async def test_what_the_gateway_raised_is_raised_here_at_once(server, client, error):
    server.scripted.script = lambda request, attempt: error
    with pytest.raises(type(error)) as caught:
        await client.score("r", TRUTH, request_id="a")
    assert type(caught.value) is type(error)
    assert str(caught.value)[:700] == str(error)[:700]
    if isinstance(error, errors.RequestError):
        assert caught.value.field == error.field
    assert server.scripted.attempts["a"] == 1


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.INTERNAL, errors.InfraError),
        (grpc.StatusCode.INVALID_ARGUMENT, errors.RequestError),
        (grpc.StatusCode.UNIMPLEMENTED, errors.UnimplementedError),
        (grpc.StatusCode.PERMISSION_DENIED, errors.InfraError),
    ],
)
async def test_a_status_that_is_not_ours_is_told_by_its_code(server, client, code, kind):
    trailers = (("grpc-status-details-bin", b"\xff\xff not a status"),)
    server.scripted.script = lambda request, attempt: (code, "some text", trailers)
    with pytest.raises(kind, match="some text"):
        await client.score("r", TRUTH, request_id="a")
    assert server.scripted.attempts["a"] == 1


async def test_an_infra_outcome_is_an_answer(server, client):
    server.scripted.script = lambda request, attempt: pb.ScoreResponse(
        outcome=pb.OUTCOME_INFRA_ERROR, error="slots died"
    )
    result = await client.score("r", TRUTH)
    assert (result.outcome, result.score, result.error) == (
        Outcome.INFRA_ERROR,
        None,
        "slots died",
    )


async def test_an_outcome_from_the_future_is_no_score(server, client):
    server.scripted.script = lambda request, attempt: pb.ScoreResponse(outcome=77, score=1.0)
    result = await client.score("r", TRUTH)
    assert (result.outcome, result.score) == (Outcome.INFRA_ERROR, None)
    assert result.error


async def test_run_info_and_upload(server, client):
    outcome = await client.run("print(1)", language="python", stdin="in")
    assert (outcome.status, outcome.facts.stdout, outcome.runner) == (
        Status.ACCEPTED,
        b"in",
        "scripted",
    )
    with pytest.raises(errors.RequestError):
        await client.run()
    assert (await client.info()).slots == 3
    big = {"inputs": ["x" * 3_000_000], "outputs": ["y"]}
    assert await client.put_suite(big) == "d" * 64
    assert len(server.scripted.uploads[0]) > 3_000_000


async def test_the_client_opens_again_after_close(client):
    await client.close()
    assert (await client.info()).slots == 3


async def test_waits_grow_with_full_jitter_and_honor_the_gateway():
    policy = RetryPolicy(base_s=1.0, max_s=5.0)
    most = Backoff(policy, rng=lambda: 1.0)
    assert [most.wait_s(n, None) for n in (1, 2, 3, 4, 5)] == [1, 2, 4, 5, 5]
    least = Backoff(policy, rng=lambda: 0.0)
    assert [least.wait_s(n, None) for n in (1, 5)] == [0, 0]
    assert least.wait_s(1, errors.OverloadedError("full", 2.5)) == 2.5
    assert most.wait_s(2, errors.OverloadedError("full", 2.5)) == 4.5


async def test_no_wait_is_begun_that_would_pass_the_deadline(pauses):
    now = 0.0
    attempts = []

    async def attempt(left_s):
        attempts.append(left_s)
        raise errors.OverloadedError("full", 4.0)

    policy = RetryPolicy()
    backoff = Backoff(policy, rng=lambda: 0.0)
    with pytest.raises(errors.OverloadedError):
        await call_with_retries(attempt, policy, timeout_s=3.0, clock=lambda: now, pace=backoff)
    assert (attempts, pauses) == ([3.0], [])


async def test_the_budget_shrinks_with_the_clock(pauses):
    times = iter([0.0, 0.0, 1.0, 1.5, 4.0, 4.5, 9.0, 9.0, 9.0])
    attempts = []

    async def attempt(left_s):
        attempts.append(left_s)
        raise errors.GatewayUnavailableError("gone")

    policy = RetryPolicy(max_attempts=3)
    with pytest.raises(errors.GatewayUnavailableError):
        await call_with_retries(
            attempt,
            policy,
            timeout_s=10.0,
            clock=lambda: next(times),
            pace=Backoff(policy, rng=lambda: 0.0),
        )
    assert attempts == [10.0, 8.5, 5.5]
