"""The synchronous twin, threads, event loops, forks, and a clean exit."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from verifier.client import AsyncClient, Client, ScoreCall
from verifier.errors import GatewayUnavailableError, LimitError, RequestError
from verifier.types import Outcome

# Python 3.12 and later warn of what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

TRUTH = {"inputs": ["1"], "outputs": ["1"]}


@pytest.fixture
def client(threaded_server):
    with Client(threaded_server.address, timeout_s=60, client_id="sync") as made:
        yield made


def test_the_twin_does_the_same(threaded_server, client):
    result = client.score("r", TRUTH, request_id="a")
    assert (result.score, result.request_id) == (1.0, "a")
    results = client.score_many(ScoreCall("r", TRUTH) for _ in range(5))
    assert [r.score for r in results] == [1.0] * 5
    assert client.run("print()", language="python", stdin=b"x").facts.stdout == b"x"
    assert client.put_suite(TRUTH) == "d" * 64
    assert client.info().slots == 3
    assert threaded_server.scripted.requests[0].client_id == "sync"
    threaded_server.scripted.script = lambda request, attempt: LimitError("limits.x", "no")
    with pytest.raises(LimitError, match=r"limits\.x"):
        client.score("r", TRUTH)


def test_the_twins_have_one_signature():
    def public(kind):
        return {
            name: str(inspect.signature(member)).replace("Self", "X")
            for name, member in vars(kind).items()
            if callable(member) and (not name.startswith("_") or name == "__init__")
        }

    ours, theirs = public(Client), public(AsyncClient)

    assert ours == theirs


def test_many_threads_share_one_client(client):
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda i: client.score("r", TRUTH, request_id=str(i)), range(64)))
    assert [result.request_id for result in results] == [str(i) for i in range(64)]


def test_one_async_client_on_many_loops_one_after_the_other(threaded_server):
    client = AsyncClient(threaded_server.address, timeout_s=60)

    async def once():
        result = await client.score("r", TRUTH)
        await client.close()
        return result.score

    async def without_closing():
        return (await client.score("r", TRUTH)).score

    assert [asyncio.run(once()) for _ in range(3)] == [1.0] * 3
    assert [asyncio.run(without_closing()) for _ in range(3)] == [1.0] * 3


def test_one_async_client_on_many_loops_at_once(threaded_server):
    client = AsyncClient(threaded_server.address, timeout_s=60)
    results = []

    def work():
        async def main():
            got = await client.score_many([ScoreCall("r", TRUTH) for _ in range(20)])
            await client.close()
            return got

        results.extend(asyncio.run(main()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.score for result in results] == [1.0] * 80


def in_fork(work):
    """What `work` gives in a forked child of this process, which has threads and used gRPC."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def child():
        try:
            sender.send((True, work()))
        except BaseException as exc:  # noqa: BLE001 - the parent shall see it
            sender.send((False, exc))

    process = context.Process(target=child)
    process.start()
    try:
        assert receiver.poll(60), "the child hangs"
        ok, value = receiver.recv()
    finally:
        process.join(20)
        hangs = process.is_alive()
        process.kill()
        process.join()
        receiver.close()
        sender.close()
    assert not hangs, "the child does not end"
    if not ok:
        raise value
    return value


def test_a_forked_child_scores_through_its_parents_client(threaded_server, client):
    """OpenHands/benchmarks#459; modelscope/evalscope#449; verl-project/verl#3290: live threads."""
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        assert client.score("r", TRUTH).score == 1.0

        def work():
            results = client.score_many([ScoreCall("r", TRUTH) for _ in range(200)])
            return [result.score for result in results], client.info().slots

        scores, slots = in_fork(work)
        assert (scores, slots) == ([1.0] * 200, 3)
        assert client.score("r", TRUTH).score == 1.0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_fork_of_a_fork_works_too(client):
    assert client.info().slots == 3

    def work():
        assert client.info().slots == 3
        return in_fork(lambda: client.info().slots)

    # A daemonic process may not have children; these are not.
    assert in_fork(work) == 3


def test_errors_cross_the_fork(threaded_server, client):
    threaded_server.scripted.script = lambda request, attempt: RequestError("language", "unknown")
    assert client.info().slots == 3
    with pytest.raises(RequestError) as caught:
        in_fork(lambda: client.score("r", TRUTH))
    assert caught.value.field == "language"


def test_an_async_client_works_in_a_forked_child(threaded_server):
    client = AsyncClient(threaded_server.address, timeout_s=60)

    async def score():
        result = await client.score("r", TRUTH)
        await client.close()
        return result.score

    assert asyncio.run(score()) == 1.0
    assert in_fork(lambda: asyncio.run(score())) == 1.0


def test_a_relay_that_dies_is_replaced(threaded_server, client):
    assert client.info().slots == 3

    def work():
        assert client.info().slots == 3
        relay = client._aio._relay[1]
        relay._process.kill()
        relay._process.wait()
        with contextlib.suppress(GatewayUnavailableError):
            client.info()  # It may be noticed only now.
        return client.info().slots, client._aio._relay[1] is not relay

    assert in_fork(work) == (3, True)


def test_a_cancelled_call_is_cancelled_in_the_relay_too(threaded_server, client):
    threaded_server.scripted.script = lambda request, attempt: "read_timeout"
    assert client.info().slots == 3

    def work():
        async def main():
            own = AsyncClient(threaded_server.address)
            waiting = asyncio.ensure_future(own.score("r", TRUTH))
            await own.info()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            slots = (await own.info()).slots
            await own.close()
            return waiting.cancelled(), slots

        return asyncio.run(main())

    assert in_fork(work) == (True, 3)


@pytest.mark.parametrize("close", [True, False])
def test_a_process_that_used_the_client_exits_cleanly(threaded_server, close):
    code = textwrap.dedent("""
        import sys
        from verifier.client import Client
        client = Client(sys.argv[1])
        print(client.info().slots)
        if sys.argv[2] == "True":
            client.close()
    """)
    done = subprocess.run(
        [sys.executable, "-c", code, threaded_server.address, str(close)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_no_answer_is_lost_when_the_caller_is_on_another_loop(client):
    async def main():
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, client.score, "r", TRUTH)

    assert asyncio.run(main()).outcome is Outcome.SCORED
