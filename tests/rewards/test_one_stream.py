"""A batch of 256 code responses goes through one gRPC stream: a real gateway on a real socket."""

from __future__ import annotations

import asyncio
import collections
import json
import threading

import pytest
from reward_rollouts import CharTokenizer, make_batch

from verifier.config import Settings
from verifier.engine import Engine
from verifier.gateway import Gateway
from verifier.gateway.servicer import Servicer
from verifier.rewards import get_reward_manager_cls
from verifier.sandbox.fake import FakeSandbox
from verifier.scoring import DefaultScorer
from verifier.types import RunFacts

SAMPLES = 256
CODE = "```python\nprint(sum(map(int, input().split())))\n# {}\n```"
TRUTH = json.dumps({"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "8\n"]})


def adds(job, data):
    out = str(sum(map(int, data.split()))).encode()
    return RunFacts(exit_code=0, stdout=out, stdout_bytes=len(out))


class Served:
    """A gateway on a loop of its own that counts the RPCs that reach it, and their messages."""

    def __init__(self, monkeypatch):
        self.rpcs = collections.Counter()
        self.messages = []
        for name in ("Score", "Run", "PutSuite"):
            monkeypatch.setattr(Servicer, name, self._counted(getattr(Servicer, name)))
        stream = Servicer.ScoreStream

        async def counted(servicer, requests, context):
            self.rpcs["ScoreStream"] += 1
            await stream(servicer, self._read(requests), context)

        monkeypatch.setattr(Servicer, "ScoreStream", counted)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.address = self._do(self._start())

    async def _start(self):
        self._gateway = Gateway(
            Engine(FakeSandbox(adds), slots=2, max_queue=2 * SAMPLES), Settings(grpc="127.0.0.1:0")
        )
        return (await self._gateway.start()).grpc

    def close(self):
        self._do(self._gateway.stop(0))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _counted(self, call):
        async def counted(servicer, request, context):
            self.rpcs[call.__name__] += 1
            return await call(servicer, request, context)

        return counted

    async def _read(self, requests):
        async for request in requests:
            self.messages.append(request.request_id)
            yield request

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@pytest.fixture
def served(monkeypatch):
    gateway = Served(monkeypatch)
    yield gateway
    gateway.close()


@pytest.mark.parametrize("name", ["naive", "batch", "dapo", "prime"])
def test_one_stream_for_a_batch(served, name):
    responses = [CODE.format(i) if i % 4 else "no code" for i in range(SAMPLES)]
    batch = make_batch(responses, sources=["taco"] * SAMPLES, truth=TRUTH)
    scorer = DefaultScorer(server=served.address, on_unavailable="raise")
    answer = get_reward_manager_cls(name)(CharTokenizer(), 0, scorer)(batch, return_dict=True)
    scores = answer["reward_tensor"].sum(dim=-1).tolist()
    assert scores == [0.5 if i % 4 else 0.0 for i in range(SAMPLES)]
    assert set(answer["reward_extra_info"]["scorer"]) == {"sandbox"}
    assert served.rpcs == {"ScoreStream": 1}
    # One message for each response, with its whole suite.
    assert len(served.messages) == len(set(served.messages)) == SAMPLES
