"""Suites: uploaded once, parsed once, kept within a budget."""

from __future__ import annotations

import asyncio
import json

import grpc
import pytest

from verifier.errors import SuiteError, UnknownSuiteError
from verifier.gateway.suites import Source, SuiteStore
from verifier.testcases import load_suite
from verifier.v1 import verifier_pb2 as pb

Code = grpc.StatusCode


def truth(marker: str, size: int = 0) -> bytes:
    return json.dumps({"inputs": [marker + "x" * size], "outputs": [marker]}).encode()


class Counting:
    def __init__(self):
        self.calls = 0

    def __call__(self, text, **kwargs):
        self.calls += 1
        return load_suite(text, **kwargs)


@pytest.fixture
def parse():
    return Counting()


@pytest.fixture
def store(parse):
    made = SuiteStore(10_000_000, parse=parse)
    yield made
    made.close()


@pytest.mark.parametrize("size", [0, 300_000])
async def test_a_group_parses_its_ground_truth_once(store, parse, size):
    source = Source(truth("a", size))
    suites = await asyncio.gather(*(store.load(source) for _ in range(16)))
    assert len({id(suite) for suite in suites}) == 1
    assert parse.calls == 1
    assert store.get(suites[0].digest) is suites[0]


@pytest.mark.parametrize("size", [0, 300_000])
async def test_a_broken_one_is_parsed_once_too(store, parse, size):
    source = Source(b"[" + b" " * size)
    for _ in range(3):
        with pytest.raises(SuiteError):
            await store.load(source)
    assert parse.calls == 1


async def test_what_changes_the_reading_changes_the_suite(store, parse):
    data = json.dumps({"inputs": ["1"], "outputs": ["1"]}).encode()
    plain = await store.load(Source(data))
    called = await store.load(Source(data, fn_name="f"))
    assert plain.digest != called.digest
    assert parse.calls == 2


async def test_one_waiter_gone_does_not_take_the_others_parse(store):
    source = Source(truth("a", 300_000))
    first = asyncio.ensure_future(store.load(source))
    second = asyncio.ensure_future(store.load(source))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).cases
    assert first.cancelled() or first.done()


async def test_the_least_recently_used_go_first():
    store = SuiteStore(25_000)
    try:
        a = await store.load(Source(truth("a", 8000)))
        b = await store.load(Source(truth("b", 8000)))
        store.get(a.digest)
        c = await store.load(Source(truth("c", 8000)))
        assert len(store) == 2
        assert store.used_bytes <= 25_000
        store.get(a.digest)
        store.get(c.digest)
        with pytest.raises(UnknownSuiteError, match="PutSuite"):
            store.get(b.digest)
        again = await store.load(Source(truth("b", 8000)))
        assert again == b
        huge = await store.load(Source(truth("d", 40_000)))
        assert huge.cases
        assert len(store) == 2
    finally:
        store.close()


async def test_other_texts_of_a_suite_are_counted():
    store = SuiteStore(20_000)
    suites = {id(await store.load(Source(truth("a") + b" " * n))) for n in range(500)}
    assert len(store._by_key) < 200
    assert store.used_bytes <= 20_000
    assert len(suites) > 1  # it was let go of, and parsed again
    store.close()


async def test_upload_then_score_by_digest(serve, request_of):
    running = await serve()
    data = truth("a", 100_000)

    async def pieces():
        for start in range(0, len(data), 1000):
            yield pb.PutSuiteRequest(chunk=data[start : start + 1000])

    put = await running.stub.PutSuite(pieces())
    assert (put.cases, put.size_bytes) == (1, len(data))
    answer = await running.stub.Score(request_of(suite_digest=put.digest))
    assert (answer.outcome, answer.suite_digest) == (pb.OUTCOME_SCORED, put.digest)
    assert running.engine.tasks[0].suite.cases[0].stdin.startswith(b"ax")


async def test_an_unknown_digest_says_what_to_do(serve, request_of):
    running = await serve()
    with pytest.raises(grpc.aio.AioRpcError, match="PutSuite") as caught:
        await running.stub.Score(request_of(suite_digest="0" * 64))
    assert caught.value.code() is Code.FAILED_PRECONDITION


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([], "chunk"),
        ([pb.PutSuiteRequest(chunk=b"{")], "ground_truth"),
        ([pb.PutSuiteRequest(chunk=b"x" * 600)] * 2, "ceiling"),
        ([pb.PutSuiteRequest(ground_truth_format="csv", chunk=b"{}")], "ground_truth_format"),
        ([pb.PutSuiteRequest(chunk=b'{"inputs": ["1"], "outputs": []}')], "outputs"),
    ],
)
async def test_a_broken_upload_is_refused(serve, messages, text):
    running = await serve(max_suite_bytes=1024)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.stub.PutSuite(iter(messages))
    assert caught.value.code() is Code.INVALID_ARGUMENT
    assert text in caught.value.details()


async def test_uploads_count_in_the_queue(serve, request_of):
    running = await serve(max_queue_bytes=1024 * 1024)
    gate = asyncio.Event()

    async def wait(task):
        await gate.wait()
        raise SuiteError("inputs", "x")

    running.engine.on_score = wait
    first = asyncio.ensure_future(running.stub.Score(request_of(response=b"x" * 900_000)))
    await running.engine.entered.wait()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.stub.PutSuite(iter([pb.PutSuiteRequest(chunk=b"x" * 300_000)]))
    assert caught.value.code() is Code.RESOURCE_EXHAUSTED
    gate.set()
    assert (await first).outcome == pb.OUTCOME_INVALID_SUITE
