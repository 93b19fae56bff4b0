"""The router between real sockets: replicas here are small servers that a test scripts."""

from __future__ import annotations

import asyncio
import binascii
import contextlib

import pytest

aiohttp = pytest.importorskip("aiohttp", reason="reward models need the extra 'loop'")

from aiohttp import web  # noqa: E402

from verifier.errors import ConfigError  # noqa: E402
from verifier.reward_loop.router import Balance, Router  # noqa: E402


class Replica:
    """Answers from a script: a status, bytes in pieces, or a connection that ends."""

    def __init__(self):
        self.script = []
        self.seen = []
        self.gate = None

    async def handle(self, request):
        self.seen.append((request.method, request.path_qs, await request.read()))
        if self.gate is not None:
            await self.gate.wait()
        answer = self.script.pop(0) if self.script else 200
        if answer == "reset":
            request.transport.abort()
            return web.Response()
        if isinstance(answer, list):
            response = web.StreamResponse(headers={"X-Kind": "stream"})
            await response.prepare(request)
            for piece in answer:
                if piece == "abort":
                    request.transport.abort()
                    break
                await response.write(piece)
            return response
        return web.json_response({"status": answer}, status=answer)


@contextlib.asynccontextmanager
async def listening(app):
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def routed(n=2, **settings):
    async with contextlib.AsyncExitStack() as stack:
        replicas, urls = [], []
        for _ in range(n):
            replica = Replica()
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", replica.handle)
            urls.append(await stack.enter_async_context(listening(app)))
            replicas.append(replica)
        pauses = []

        async def sleep(seconds):
            pauses.append(seconds)

        balance = Balance(urls, deterministic=settings.pop("deterministic", False))
        router = Router(balance, sleep=sleep, **settings)
        address = await stack.enter_async_context(listening(router.app()))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        yield session, address, replicas, balance, pauses


async def test_method_path_query_and_body_arrive_and_the_answer_passes_back():
    async with routed(1) as (session, address, (replica,), balance, _):
        async with session.post(f"{address}/v1/embeddings?a=1", data=b"body") as answer:
            assert await answer.json() == {"status": 200}
        assert replica.seen == [("POST", "/v1/embeddings?a=1", b"body")]
        assert set(balance.counts.values()) == {0}


async def test_the_least_loaded_replica_is_next():
    async with routed() as (session, address, (first, second), balance, _):
        first.gate = asyncio.Event()
        held = asyncio.ensure_future(session.get(f"{address}/a"))
        while not first.seen:
            await asyncio.sleep(0)
        for _ in range(3):
            async with session.get(f"{address}/b"):
                pass
        assert (len(first.seen), len(second.seen)) == (1, 3)
        first.gate.set()
        (await held).release()
        await asyncio.sleep(0)
        assert set(balance.counts.values()) == {0}


async def test_what_failed_is_tried_on_the_other_replica_without_a_pause():
    async with routed() as (session, address, (first, second), balance, pauses):
        first.script = ["reset"]
        async with session.post(f"{address}/a") as answer:
            assert answer.status == 200
        assert (len(first.seen), len(second.seen)) == (1, 1)
        assert pauses == []
        assert set(balance.counts.values()) == {0}


async def test_attempts_end_and_counts_are_balanced_even_then():
    async with routed(attempts=3) as (session, address, replicas, balance, pauses):
        for replica in replicas:
            replica.script = ["reset"] * 3
        async with session.post(f"{address}/a") as answer:
            assert answer.status == 503
            assert "after 3 attempts" in (await answer.json())["error"]
        assert len(pauses) == 1  # both were tried before the first
        assert set(balance.counts.values()) == {0}


async def test_a_servers_error_is_retried_and_passes_through_at_the_end():
    async with routed(1, attempts=2) as (session, address, (replica,), _, __):
        replica.script = [500, 200]
        async with session.get(f"{address}/a") as answer:
            assert answer.status == 200
        replica.script = [500, 502]
        async with session.get(f"{address}/a") as answer:
            assert answer.status == 502
            assert await answer.json() == {"status": 502}


async def test_a_callers_error_passes_through_at_once():
    async with routed() as (session, address, (first, second), _, __):
        first.script = [400]
        async with session.post(f"{address}/classify", data=b"x") as answer:
            assert answer.status == 400
        assert len(first.seen) + len(second.seen) == 1


async def test_bodies_stream():
    async with routed(1) as (session, address, (replica,), balance, _):
        replica.script = [[b"data: 1\n\n", b"data: 2\n\n"]]
        async with session.get(f"{address}/stream") as answer:
            assert answer.headers["X-Kind"] == "stream"
            assert await answer.read() == b"data: 1\n\ndata: 2\n\n"
        assert set(balance.counts.values()) == {0}


async def test_a_stream_that_breaks_is_broken_for_the_caller_too_and_not_retried():
    async with routed() as (session, address, (first, second), balance, _):
        first.script = [[b"half", "abort"]]
        with pytest.raises(aiohttp.ClientError):
            async with session.get(f"{address}/stream") as answer:
                await answer.read()
        while any(balance.counts.values()):
            await asyncio.sleep(0)
        assert second.seen == []


async def test_health_is_of_the_replicas():
    async with routed() as (session, address, (first, second), _, __):
        async with session.get(f"{address}/health") as answer:
            assert answer.status == 200
        first.script, second.script = [500], ["reset"] * 2  # a GET, which aiohttp tries twice
        async with session.get(f"{address}/health") as answer:
            assert answer.status == 503
            assert list((await answer.json())["workers"].values()) == [False, False]


def test_ties_are_broken_by_a_hash_of_the_request_when_asked():
    workers = ["a", "b", "c"]
    plain = Balance(workers)
    assert [plain.take(b"x") for _ in range(3)] == workers
    for body in (b"one", b"two", b"three"):
        fixed = Balance(workers, deterministic=True)
        assert fixed.take(body) == workers[binascii.crc32(body) % 3]


def test_no_worker_or_one_twice_is_refused():
    for workers in ([], ["a", "a"]):
        with pytest.raises(ConfigError, match="each once"):
            Balance(workers)
