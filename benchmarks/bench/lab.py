"""Options of a run, and what its rows share: yardsticks, gateways and peers, started when asked."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from benchmarks.bench.floor import Yardsticks
from benchmarks.bench.gateways import Gateway
from benchmarks.bench.peers import GoJudge, RunCode
from benchmarks.bench.prime import PrimeCode
from benchmarks.bench.values import NotMeasuredError
from benchmarks.bench.work import CASES, python_call
from verifier.client import AsyncClient, ScoreCall
from verifier.types import Outcome

if TYPE_CHECKING:
    from typing_extensions import Self


class Process(Protocol):
    """What is started once and shared."""

    async def start(self) -> None:
        """Start it, or raise `NotMeasuredError`."""

    async def close(self) -> None:
        """End it."""


_P = TypeVar("_P", bound=Process)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything.

    Attributes:
        rounds: Of the works that take about a second or less.
        long_rounds: Of those that take longer.
        seconds: Of one measurement of a rate.
        programs: At once, that have to stay within their limit.
        repeats: Of those.
        endless_limit_s: CPU limit of the endless program.
        suite_bytes: Of the big suite.
        queued: Responses in the queue.
        asked: Priority requests.
        chunks: Of the soak.
        chunk_cases: Cases of one.
    """

    rounds: int = 5
    long_rounds: int = 3
    seconds: float = 1.0
    programs: int = 40
    repeats: int = 10
    endless_limit_s: float = 10.0
    suite_bytes: int = 12_000_000
    queued: int = 10_000
    asked: int = 200
    chunks: int = 20
    chunk_cases: int = 5000


QUICK = Sizes(rounds=2, long_rounds=1, seconds=0.3, repeats=1, endless_limit_s=1.0, asked=100)


@dataclass(frozen=True, slots=True)
class Options:
    """Of one run.

    Attributes:
        backends: Ours, in order; the first one alone does the works that take long.
        slots: Programs at once, of ours and of every contender.
        sizes: See there.
        long: The works of minutes too.
        accept: Guarantees that may be missing, as `verifier serve --accept` takes them.
        run_code_url: A `/run_code` that isolates nothing.
        run_code_isolated_url: One that isolates.
        go_judge: The binary of go-judge.
        verl_python: An interpreter that has verl.
    """

    backends: tuple[str, ...] = ("namespaces", "docker")
    slots: int = len(os.sched_getaffinity(0))
    sizes: Sizes = Sizes()
    long: bool = False
    accept: str = ""
    run_code_url: str | None = None
    run_code_isolated_url: str | None = None
    go_judge: str | None = None
    verl_python: str | None = None


class Lab:
    """See the module; a context manager that ends whatever it started.

    Attributes:
        options: Of the run.
    """

    def __init__(self, options: Options) -> None:
        """Nothing is started yet."""
        self.options = options
        self._stack = contextlib.AsyncExitStack()
        self._gateways: dict[str, Gateway | NotMeasuredError] = {}
        self._clients: dict[str, AsyncClient] = {}
        self._shared: dict[str, object] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def yardsticks(self) -> Yardsticks:
        """The floor's workers.

        Raises:
            NotMeasuredError: See there.
        """
        return await self._once("floor", Yardsticks(self.options.slots))

    async def prime(self) -> PrimeCode:
        """The prime_code of verl.

        Raises:
            NotMeasuredError: There is no verl.
        """
        return await self._once("prime", PrimeCode(self.options.verl_python, self.options.slots))

    async def go_judge(self) -> GoJudge:
        """A go-judge.

        Raises:
            NotMeasuredError: No binary was given, or it does not start.
        """
        return await self._once("go-judge", GoJudge(self.options.go_judge, self.options.slots))

    def run_code(self, *, isolated: bool) -> RunCode:
        """A `/run_code`.

        Raises:
            NotMeasuredError: No address was given.
        """
        options = self.options
        url = options.run_code_isolated_url if isolated else options.run_code_url
        if url is None:
            flag = "--run-code-isolated-url" if isolated else "--run-code-url"
            raise NotMeasuredError(f"give {flag}")
        return RunCode(url, options.slots)

    async def gateway(self, backend: str) -> Gateway:
        """The gateway that rows share.

        Raises:
            NotMeasuredError: It does not start here.
        """
        if backend not in self._gateways:
            found = self.fresh_gateway(backend)
            try:
                self._gateways[backend] = await self._stack.enter_async_context(found)
            except NotMeasuredError as reason:
                self._gateways[backend] = reason
        there = self._gateways[backend]
        if isinstance(there, NotMeasuredError):
            raise there
        return there

    def fresh_gateway(self, backend: str, **settings: object) -> Gateway:
        """One of its own for a row, not started; `settings` are those of VERIFIER_*."""
        options = self.options
        return Gateway(backend, slots=options.slots, accept=options.accept, settings=settings)

    async def client(self, backend: str) -> AsyncClient:
        """Of the gateway that rows share.

        Raises:
            NotMeasuredError: It does not start here.
        """
        target = (await self.gateway(backend)).target
        if target not in self._clients:
            client = AsyncClient(target)
            self._clients[target] = await self._stack.enter_async_context(client)
        return self._clients[target]

    async def _once(self, name: str, made: _P) -> _P:
        if name not in self._shared:
            try:
                await made.start()
            except NotMeasuredError as reason:
                self._shared[name] = reason
            else:
                self._shared[name] = made
                self._stack.push_async_callback(made.close)
        there = self._shared[name]
        if isinstance(there, NotMeasuredError):
            raise there
        return cast("_P", there)


class ScoreRate:
    """Cases a second through a gateway that rows share, over one stream.

    Args:
        lab: Of the run.
        backend: Of the gateway.
        same: All responses are one text; otherwise each has a program of its own.
    """

    def __init__(self, lab: Lab, backend: str, *, same: bool = False) -> None:
        """Nothing is sent yet."""
        self._lab = lab
        self._backend = backend
        self._same = python_call() if same else None
        self._responses_per_s = 8.0

    async def measure(self) -> float:
        """For about as long as the run's sizes say.

        Raises:
            NotMeasuredError: The gateway does not start here.
        """
        client = await self._lab.client(self._backend)
        count = max(8, round(self._responses_per_s * self._lab.options.sizes.seconds))
        calls = [self._same or python_call() for _ in range(count)]
        took = await score_all(client, calls)
        self._responses_per_s = count / took
        return count * CASES / took


async def score_all(client: AsyncClient, calls: Sequence[ScoreCall]) -> float:
    """Seconds until all are scored, each fully right."""
    start = time.perf_counter()
    results = await client.score_many(calls)
    took = time.perf_counter() - start
    for result in results:
        assert result.outcome is Outcome.SCORED, result
        assert result.score == 1.0, result
    return took


async def warm(client: AsyncClient) -> None:
    """What a gateway imports and allocates at its first requests is none of the growth."""
    for _ in range(3):
        await score_all(client, [python_call() for _ in range(8)])
