"""Uploaded suites behind the memory: on disk, read back by digest, believed after a look."""

from __future__ import annotations

import asyncio
import json

import grpc
import pytest

from verifier.engine import Engine
from verifier.errors import RequestError, SuiteError, UnknownSuiteError
from verifier.gateway.suites import Source, SuiteStore, _disk_key, suite_disk
from verifier.testcases import load_suite
from verifier.testing import FakeSandbox
from verifier.v1 import verifier_pb2 as pb

BUDGET = 30_000


def truth(marker: str, size: int = 20_000) -> bytes:
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
def open_store(tmp_path, parse):
    made = []

    def make(budget: int = BUDGET) -> SuiteStore:
        disk = suite_disk(str(tmp_path / "cache"), 10_000_000)
        made.append(SuiteStore(budget, parse=parse, disk=disk))
        return made[-1]

    make.folder = tmp_path / "cache" / "suites"
    yield make
    for store in made:
        store.close()


def entries(open_store):
    return list(open_store.folder.iterdir())


def size_of(path):
    return path.stat().st_size


async def test_what_memory_let_go_comes_back_from_the_disk(open_store, parse):
    store = open_store()
    a, b = await store.put(Source(truth("a"))), await store.put(Source(truth("b")))
    assert len(store) == 1
    back = await store.fetch(a.digest)
    assert (back, back.digest) == (a, a.digest)
    assert parse.calls == 3
    assert await store.fetch(a.digest) is back  # in memory again
    assert parse.calls == 3
    assert (await store.fetch(b.digest)) == b
    assert store.used_bytes <= BUDGET


async def test_the_next_process_has_it(open_store):
    calls = json.dumps({"inputs": ["[1]"], "outputs": ["2"]}).encode()
    source = Source(calls, "prime", "solve")
    suite = await open_store().put(source)
    again = await open_store().fetch(suite.digest)
    assert (again, again.fn_name) == (suite, "solve")


async def test_a_group_reads_it_once(open_store, parse):
    suite = await open_store().put(Source(truth("a")))
    store = open_store()
    parse.calls = 0
    found = await asyncio.gather(*(store.fetch(suite.digest) for _ in range(16)))
    assert parse.calls == 1
    assert len({id(suite) for suite in found}) == 1


async def test_only_uploads_are_on_disk_and_each_once(open_store):
    store = open_store()
    await store.load(Source(truth("a")))
    assert entries(open_store) == []
    await store.put(Source(truth("a")))
    path = max(entries(open_store), key=size_of)
    assert len(entries(open_store)) == 2  # the upload, and its name under the suite's digest
    written = path.stat().st_ino
    await store.put(Source(truth("a")))
    assert path.stat().st_ino == written
    assert len(entries(open_store)) == 2


async def test_another_suite_under_its_name_is_not_it(open_store):
    store = open_store()
    a, b = await store.put(Source(truth("a"))), await store.put(Source(truth("b")))
    fresh = open_store()
    # As one writes it who knows how entries are made.
    fresh._disk.put(_disk_key(a.digest), bytes(fresh._disk.get(_disk_key(b.digest))))
    with pytest.raises(UnknownSuiteError, match="PutSuite"):
        await fresh.fetch(a.digest)
    assert len(entries(open_store)) == 3
    assert await open_store().fetch(b.digest) == b


@pytest.mark.parametrize("content", [b"", b"\0\0\0\2{}", b"\0\0\0\4nullxx", b"\xff" * 9])
@pytest.mark.parametrize("which", [max, min])
async def test_an_entry_that_says_nothing_is_unknown_and_goes(open_store, content, which):
    store = open_store()
    suite = await store.put(Source(truth("a")))
    path = which(entries(open_store), key=size_of)
    store._disk.put(path.name, content)
    with pytest.raises(UnknownSuiteError):
        await open_store().fetch(suite.digest)
    assert path not in entries(open_store)
    assert await store.put(Source(truth("a"))) == suite
    assert await open_store().fetch(suite.digest) == suite


async def test_another_upload_under_its_name_is_not_it(open_store):
    store = open_store()
    await store.put(Source(truth("b")))
    other = max(entries(open_store), key=size_of)
    suite = await store.put(Source(truth("a")))
    (path,) = (e for e in entries(open_store) if e != other and size_of(e) > 200)
    store._disk.put(path.name, bytes(store._disk.get(other.name)))
    with pytest.raises(UnknownSuiteError):
        await open_store().fetch(suite.digest)
    assert path not in entries(open_store)


async def test_what_cannot_be_read_does_not_stay(open_store):
    store = open_store()
    with pytest.raises(SuiteError):
        await store.put(Source([b"[", b"1"]))
    assert entries(open_store) == []


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "x\0y", "a" * 5000, "\ud800"])
async def test_a_digest_is_never_a_path(open_store, digest):
    with pytest.raises(UnknownSuiteError):
        await open_store().fetch(digest)


async def test_one_over_the_memory_is_served_from_the_disk(open_store):
    store = open_store(1000)
    suite = await store.put(Source(truth("a")))
    assert len(store) == 0
    assert await store.fetch(suite.digest) == suite


async def test_one_over_the_memory_and_no_disk_is_refused_with_what_to_do():
    store = SuiteStore(1000)
    with pytest.raises(RequestError, match="suite_store_bytes"):
        await store.put(Source(truth("a")))
    store.close()


async def test_a_disk_that_refuses_leaves_the_memory(tmp_path):
    (tmp_path / "cache").write_bytes(b"a file")
    store = SuiteStore(BUDGET, disk=suite_disk(str(tmp_path / "cache"), 10**7))
    suite = await store.put(Source(truth("a")))
    assert await store.fetch(suite.digest) is suite
    assert "memory only" in store.problem
    with pytest.raises(UnknownSuiteError):
        await store.fetch("0" * 64)
    store.close()


# ---------------------------------------------------------------- through a gateway


async def upload(running, data: bytes) -> str:
    return (await running.stub.PutSuite(iter([pb.PutSuiteRequest(chunk=data)]))).digest


async def test_a_gateway_that_was_started_anew_knows_what_was_uploaded(serve, request_of, tmp_path):
    folder = str(tmp_path / "cache")
    digest = await upload(await serve(cache_dir=folder), truth("a"))
    running = await serve(cache_dir=folder)
    answer = await running.stub.Score(request_of(suite_digest=digest))
    assert (answer.outcome, answer.suite_digest) == (pb.OUTCOME_SCORED, digest)


async def test_without_a_folder_it_does_not_and_says_to_upload(serve, request_of):
    digest = await upload(await serve(), truth("a"))
    running = await serve()
    with pytest.raises(grpc.aio.AioRpcError, match="PutSuite") as caught:
        await running.stub.Score(request_of(suite_digest=digest))
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_what_the_disk_refuses_is_a_note_and_no_fault(serve, request_of, tmp_path):
    (tmp_path / "cache").write_bytes(b"a file")
    running = await serve(engine=Engine(FakeSandbox(), slots=1), cache_dir=str(tmp_path / "cache"))
    digest = await upload(running, truth("a"))
    answer = await running.stub.Score(request_of(suite_digest=digest))
    assert answer.outcome == pb.OUTCOME_SCORED
    info = await running.stub.GetInfo(pb.GetInfoRequest())
    assert [note for note in info.notes if "memory only" in note]


async def test_no_cache_reaches_the_engine(serve, request_of):
    running = await serve()
    for flag in (False, True):
        await running.stub.Score(request_of(no_cache=flag))
    assert [task.no_cache for task in running.engine.tasks] == [False, True]
