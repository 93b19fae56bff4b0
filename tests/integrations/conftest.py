"""A real gateway on a thread of its own, over a sandbox that adds two numbers."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the integrations need the extra 'rl'")

from verifier.client import no_retry_sleep
from verifier.config import Settings
from verifier.engine import Engine
from verifier.gateway import Gateway
from verifier.gateway.servicer import Servicer
from verifier.sandbox.fake import FakeSandbox
from verifier.types import RunFacts

for folder in (".", "../rewards"):
    sys.path.insert(0, str(Path(__file__).parent / folder))


def adds(job, data):
    a, b = map(int, data.split())
    out = str(a + b).encode()
    return RunFacts(exit_code=0, stdout=out, stdout_bytes=len(out))


class Served:
    """A gateway on a thread of its own, as another process would be."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.address = self._do(self._start())
        self.url = f"verifier://{self.address}"

    async def _start(self):
        engine = Engine(FakeSandbox(adds), slots=2)
        self._gateway = Gateway(engine, Settings(grpc="127.0.0.1:0"))
        return (await self._gateway.start()).grpc

    def close(self):
        self._do(self._gateway.stop(0))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@pytest.fixture
def streams(monkeypatch):
    """How many streams a gateway was asked for."""
    opened = []
    plain = Servicer.ScoreStream

    async def counted(self, requests, context):
        opened.append(context.peer())
        await plain(self, requests, context)

    monkeypatch.setattr(Servicer, "ScoreStream", counted)
    return opened


@pytest.fixture
def gateway(streams):
    served = Served()
    with no_retry_sleep():
        yield served
    served.close()
