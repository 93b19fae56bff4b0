"""Reward functions for trainers other than verl, called as their trainers call them.

The gateway is real and on a socket; its sandbox is a fake that adds two numbers, whatever the
program. The trainers themselves: test_beyond_installed.py.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
import threading
import types
import urllib.error
import urllib.request

import pytest

from verifier.client import no_retry_sleep
from verifier.config import Settings
from verifier.engine import Engine
from verifier.errors import ConfigError, InfraError, RequestError
from verifier.gateway import Gateway
from verifier.integrations.openrlhf import (
    RewardFunction,
    main,
    responses_of,
    reward_app,
)
from verifier.integrations.scorer import Scorer, response_text
from verifier.integrations.trl import SandboxReward
from verifier.integrations.verifiers import rubric_function, task_reward
from verifier.sandbox.fake import FakeSandbox
from verifier.types import RunFacts

CODE = "Sure:\n```python\nprint(sum(map(int, input().split())))\n```"
TRUTH = json.dumps({"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]})
HALF = json.dumps({"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "8\n"]})
DEAD = "127.0.0.1:9"


def adds(job, data):
    out = str(sum(map(int, data.split()))).encode()
    return RunFacts(exit_code=0, stdout=out, stdout_bytes=len(out))


@pytest.fixture(scope="module")
def address():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(work):
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    async def start():
        made = Gateway(Engine(FakeSandbox(adds), slots=2), Settings(grpc="127.0.0.1:0"))
        return made, (await made.start()).grpc

    gateway, bound = run(start())
    yield bound
    run(gateway.stop(0))
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture(autouse=True)
def _no_sleep():
    with no_retry_sleep():
        yield


# ---------------------------------------------------------------- anyone's loop


def test_a_scorer_gives_numbers_and_none(address):
    scorer = Scorer(address)
    scores = scorer([CODE, CODE, "no code", CODE], [TRUTH, HALF, TRUTH, "{}"])
    assert scores == [1.0, 0.5, 0.0, None]
    records = scorer.records([CODE], [TRUTH], groups=["a"])
    assert (records[0].acc, records[0].scorer) == (1.0, "sandbox")
    assert scorer([], []) == []
    scorer.close()


async def test_a_scorer_on_a_loop(address):
    scorer = Scorer(address)
    assert await scorer.ascore([CODE, "no code"], [TRUTH, TRUTH]) == [1.0, 0.0]
    await scorer.aclose()


def test_no_gateway_is_none_or_an_error_and_never_zero():
    assert Scorer(DEAD)([CODE], [TRUTH]) == [None]
    with pytest.raises(InfraError, match="GatewayUnavailableError"):
        Scorer(DEAD, on_unavailable="raise")([CODE], [TRUTH])


def test_bad_columns_are_named():
    scorer = Scorer(DEAD)
    with pytest.raises(RequestError, match="ground_truths: 1 values for 2 responses"):
        scorer([CODE, CODE], [TRUTH])
    with pytest.raises(RequestError, match=r"responses\[1\]: a int"):
        scorer([CODE, 7], [TRUTH, TRUTH])


class Message(types.SimpleNamespace):
    """As pydantic messages are read."""


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("a", "a"),
        ([{"role": "assistant", "content": "a"}], "a"),
        ([{"role": "assistant", "content": "a"}, {"role": "tool", "content": "t"}], "a"),
        ([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}], "b"),
        ([{"role": "user", "content": "```python\nprint(1)\n```"}], ""),
        ([{"role": "assistant", "content": None}], ""),
        ([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "x"}]}], "a"),
        ([Message(role="user", content="u"), Message(role="assistant", content="a")], "a"),
        ([], ""),
    ],
)
def test_the_assistants_last_message_is_the_response(response, text):
    assert response_text(response) == text


# ---------------------------------------------------------------- TRL


def call_as_trl(reward, completions, **columns):
    """As `_calculate_rewards` of TRL 1.16's GRPOTrainer calls a synchronous function."""
    assert not inspect.iscoroutinefunction(reward.__call__)
    extra, metrics = {}, {}
    out = reward(
        prompts=["p"] * len(completions),
        completions=completions,
        completion_ids=[[1]] * len(completions),
        trainer_state=object(),
        log_extra=lambda name, values: extra.setdefault(name, []).extend(values),
        log_metric=metrics.__setitem__,
        **columns,
    )
    assert len(out) == len(completions)
    assert all(value is None or isinstance(value, float) for value in out)
    return out, extra, metrics


def test_trl(address):
    reward = SandboxReward(address)
    assert reward.__name__ == "sandbox_reward"
    chat = [{"role": "assistant", "content": CODE}]
    out, extra, metrics = call_as_trl(
        reward,
        [CODE, chat, "no code", CODE],
        ground_truth=[TRUTH, HALF, TRUTH, "{}"],
        level=["easy"] * 4,
    )
    assert out == [1.0, 0.5, 0.0, None]
    statuses = ["ACCEPTED", "WRONG_ANSWER", "NO_CODE", "INVALID_SUITE"]
    assert extra == {"sandbox_reward/status": statuses}
    assert metrics == {"sandbox_reward/acc": 0.25, "sandbox_reward/unscored": 0.25}
    # Older versions give no such callbacks, and a pickled copy has a channel of its own.
    again = pickle.loads(pickle.dumps(reward))
    assert again(prompts=["p"], completions=[CODE], ground_truth=[TRUTH]) == [1.0]
    reward.close()
    again.close()


def test_trl_columns(address):
    reward = SandboxReward(address, ground_truth="tests", name="passes")
    with pytest.raises(RequestError, match=r"tests: no such column .* ground_truth"):
        reward(prompts=["p"], completions=[CODE], ground_truth=[TRUTH])
    # Where a data set's rows are of one type, what a row does not say is None.
    options = [{"language": "python", "limits": None, "fn_name": None}]
    assert reward(["p"], [CODE], tests=[TRUTH], verifier=options) == [1.0]
    with pytest.raises(RequestError, match=r"samples\[0\]\.extra_info\.verifier\.speed"):
        reward(["p"], [CODE], tests=[TRUTH], verifier=[{"speed": 1}])
    reward.close()
    assert SandboxReward(DEAD)(["p"], [CODE], ground_truth=[TRUTH]) == [None]


# ---------------------------------------------------------------- OpenRLHF


@pytest.fixture
def serve():
    """Starts reward servers on sockets of loopback; gives the URL of each."""
    uvicorn = pytest.importorskip("uvicorn", reason="the server needs the extra 'server'")
    started = []

    def start(app):
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
        ready = threading.Event()
        startup = server.startup

        async def announced(sockets=None):
            await startup(sockets)
            ready.set()

        server.startup = announced
        thread = threading.Thread(target=server.run)
        thread.start()
        started.append((server, thread))
        assert ready.wait(60)
        port = server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/get_reward"

    yield start
    for server, thread in started:
        server.should_exit = True
        thread.join()


def post(url, body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def openrlhf_batch(*responses, truth=TRUTH):
    prompts = [f"<|im_start|>user\nAdd, {i}.<|im_end|>\n" for i in range(len(responses))]
    return {
        "query": [p + r + "<|im_end|>\n" for p, r in zip(prompts, responses, strict=True)],
        "prompts": prompts,
        "labels": [truth] * len(responses),
    }


def test_openrlhf_over_http(address, serve):
    torch = pytest.importorskip("torch")
    url = serve(reward_app(address))
    status, answer = post(url, openrlhf_batch(CODE, "no code"))
    assert status == 200
    assert list(answer) == ["rewards", "scores", "extra_logs"]
    assert answer["rewards"] == answer["scores"] == [1.0, 0.0]
    assert answer["extra_logs"]["verifier_acc"] == [1.0, 0.0]
    # The trainer posts one query at a time and makes a tensor of each entry.
    status, answer = post(url, openrlhf_batch(CODE, truth=HALF))
    assert torch.tensor([answer["rewards"]]).tolist() == [[0.5]]
    assert all(torch.tensor([v]).shape == (1, 1) for v in answer["extra_logs"].values())


def test_openrlhf_never_answers_a_zero_for_a_fault(serve):
    status, answer = post(serve(reward_app(DEAD)), openrlhf_batch(CODE))
    assert status == 503
    assert "GatewayUnavailableError" in answer["error"]
    assert "rewards" not in answer


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"labels": ["{}"]}, "labels[0]: INVALID_SUITE"),
        ({"labels": []}, "labels: 0 for 1 queries"),
        ({"labels": [3]}, "labels: expected a list of texts"),
        ({"prompts": ["another"]}, "query[0]: the prompt is not in it"),
        ({"prompts": []}, "prompts: 0 for 1 queries"),
        ({"query": None}, "query: expected a list of texts"),
    ],
)
def test_openrlhf_bad_requests_are_named(address, serve, change, problem):
    status, answer = post(serve(reward_app(address)), {**openrlhf_batch(CODE), **change})
    assert status == 422
    assert problem in answer["error"]


@pytest.mark.parametrize("body", [b"", b"[", b"[]", b"\xff", b"[" * 100_000])
def test_openrlhf_bodies_that_are_no_request(address, serve, body):
    status, answer = post(serve(reward_app(address)), body)
    assert status == 422
    assert answer["error"]


def test_openrlhf_responses():
    fence = "```python\nprint(1)\n```"
    assert responses_of([f"<s> ask {fence}<|im_end|></s><pad><pad>"], ["ask "]) == [f" {fence}"]
    assert responses_of([f"{fence}</s>"], [" "]) == [fence]
    assert responses_of([f"ask{fence}[END]"], ["ask"], ["[END]"]) == [fence]
    # A program in the prompt is the prompt's.
    assert responses_of([f"{fence} now you: no"], [f"{fence} now you:"]) == [" no"]


def test_openrlhf_function(address):
    torch = pytest.importorskip("torch")
    reward_func = RewardFunction(address)
    batch = openrlhf_batch(CODE, "no code")
    answer = reward_func(batch["query"], batch["prompts"], batch["labels"])
    assert torch.equal(answer["rewards"], torch.tensor([1.0, 0.0]))
    assert torch.equal(answer["scores"], answer["rewards"])
    assert {v.shape for v in answer["extra_logs"].values()} == {(2,)}
    with pytest.raises(InfraError, match=r"query\[0\]"):
        RewardFunction(DEAD)(batch["query"], batch["prompts"], batch["labels"])


def test_openrlhf_server_stays_on_this_machine(capsys):
    with pytest.raises(SystemExit):
        main(["--bind", "0.0.0.0:0"])
    assert "--insecure-bind" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--bind", "5000"])


# ---------------------------------------------------------------- verifiers


async def call_as_rubric(function, **state):
    """As the Rubric of verifiers 0.1.14 calls: by the names in the signature."""
    merged = {"prompt": "", "info": {}, "task": "", "parser": object(), "state": state, **state}
    names = inspect.signature(function).parameters
    assert not {"states", "completions", "answers"} & set(names)  # else it is a group's function
    value = await function(**{k: v for k, v in merged.items() if k in names})
    return float(value), state


async def test_a_rubric_function(address):
    function = rubric_function(address, name="passes")
    assert function.__name__ == "passes"
    chat = [{"role": "assistant", "content": CODE}]
    value, state = await call_as_rubric(function, completion=chat, answer=HALF)
    assert value == 0.5
    assert state["verifier"]["passed"] == 1
    assert "error" not in state
    value, state = await call_as_rubric(function, completion=CODE, answer="{}")
    assert value == 0.0
    assert "INVALID_SUITE" in str(state["error"])


async def test_a_rubric_function_marks_what_could_not_be_scored():
    for policy in ("mask", "raise"):
        function = rubric_function(DEAD, on_unavailable=policy)
        value, state = await call_as_rubric(function, completion=CODE, answer=TRUTH)
        assert value == 0.0
        assert isinstance(state["error"], Exception)
        assert "GatewayUnavailableError" in str(state["error"])


async def test_a_task_reward(address):
    function = task_reward(address, ground_truth="tests")
    assert list(inspect.signature(function).parameters) == ["task", "trace"]
    trace = types.SimpleNamespace(
        messages=[Message(role="user", content="?"), Message(role="assistant", content=CODE)]
    )
    assert await function(task=types.SimpleNamespace(tests=HALF), trace=trace) == 0.5
    with pytest.raises(RequestError, match=r"task\.tests: missing"):
        await function(task=types.SimpleNamespace(), trace=trace)
    with pytest.raises(RequestError, match="ground_truth: INVALID_SUITE"):
        await function(task=types.SimpleNamespace(tests="{}"), trace=trace)
    with pytest.raises(InfraError, match="GatewayUnavailableError"):
        await task_reward(DEAD)(task=types.SimpleNamespace(answer=TRUTH), trace=trace)


# ---------------------------------------------------------------- all


@pytest.mark.parametrize("make", [Scorer, SandboxReward, RewardFunction, task_reward, reward_app])
def test_a_wrong_setting_is_said_at_once(make):
    with pytest.raises(ConfigError):
        make("127.0.0.1:1", on_unavailable="guess")
