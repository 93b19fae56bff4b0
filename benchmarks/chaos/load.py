"""A steady load whose every answer is known, and what came of it.

Callers keep a number of requests under way, one by one and over streams, through the ordinary
client with its retries. Each request is one of a few dozen programs, in Python and C++, with the
verdict and the score that it has to get. A recorder in the place of the generated stub sees what
goes over the wire: a verdict that comes twice, and a request that is sent again after its verdict
came.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verifier.client import AsyncClient, RetryPolicy, ScoreCall
from verifier.errors import VerifierError
from verifier.types import LimitOverrides, Outcome, Result, Status
from verifier.v1 import verifier_pb2, verifier_pb2_grpc

if TYPE_CHECKING:
    from typing_extensions import Self

# An outage may last some seconds: the client of a training job is as patient.
PATIENT = RetryPolicy(max_attempts=40, base_s=0.1, max_s=2.0)
ONCE = RetryPolicy(max_attempts=1)
TIMEOUT_S = 120.0
BATCH = 12
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Known:
    """A request and its answer.

    Attributes:
        name: For messages.
        source: Of the program; `{n}` becomes a number that no other request has.
        language: Of its fence; "" for a response without a program.
        truth: The ground truth.
        status: The overall status it has to get.
        score: The score.
        limits: Of each run.
    """

    name: str
    source: str
    language: str
    truth: dict[str, object]
    status: Status
    score: float
    limits: LimitOverrides = LimitOverrides()


SUMS: dict[str, object] = {"inputs": ["1 2\n", "30 4\n"], "outputs": ["3\n", "34\n"]}
CALLS: dict[str, object] = {"fn_name": "add", "inputs": ["1\n2", "3\n4"], "outputs": ["3", "7"]}
ASSERTS: dict[str, object] = {"assert_case": ["assert add(1, 2) == 3", "assert add(3, 4) == 7"]}
CPP_SUM = '#include <cstdio>\nint main() {{ int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a {op} b); }} // {{n}}\n'  # noqa: E501

PYTHON = (
    Known("right", "print(sum(map(int, input().split())))  # {n}", "python", SUMS,
          Status.ACCEPTED, 1.0),
    Known("half", "a, b = input().split()\nprint(3)  # {n}", "python", SUMS,
          Status.WRONG_ANSWER, 0.5),
    Known("wrong", "print('no {n}')", "python", SUMS, Status.WRONG_ANSWER, 0.0),
    Known("slow", "import time\ntime.sleep(0.2)\nprint(sum(map(int, input().split())))  # {n}",
          "python", SUMS, Status.ACCEPTED, 1.0),
    Known("crashes", "raise SystemError({n})", "python", SUMS, Status.RUNTIME_ERROR, 0.0),
    Known("spins", "while True: {n}", "python",
          {"inputs": ["1 2\n"], "outputs": ["3\n"]}, Status.TIME_LIMIT, 0.0,
          LimitOverrides(cpu_time_s=0.2, wall_time_s=30.0)),
    Known("greedy", "held = bytearray(600_000_000)\nprint(len(held) + {n})", "python",
          {"inputs": ["1 2\n"], "outputs": ["3\n"]}, Status.MEMORY_LIMIT, 0.0,
          LimitOverrides(memory_bytes=96 * MIB)),
    Known("no program", "The answer is {n}.", "", SUMS, Status.NO_CODE, 0.0),
    Known("function", "def add(a, b):\n    return a + b  # {n}", "python", CALLS,
          Status.ACCEPTED, 1.0),
    Known("processes", "import os\nif os.fork():\n    os.wait()\n    print(sum(map(int, input()"
          ".split())))  # {n}\nelse:\n    os._exit(0)", "python", SUMS, Status.ACCEPTED, 1.0),
)  # fmt: skip
CPP = (
    Known("C++", CPP_SUM.format(op="+"), "cpp", SUMS, Status.ACCEPTED, 1.0),
    Known("C++, wrong", CPP_SUM.format(op="-"), "cpp", SUMS, Status.WRONG_ANSWER, 0.0),
    Known("C++, does not compile", "int main() { return nothing; } // {n}", "cpp", SUMS,
          Status.COMPILE_ERROR, 0.0),
)  # fmt: skip


@dataclass(slots=True)
class Tally:
    """What came of the requests.

    Attributes:
        requests: That were made.
        lost: Those without a verdict, each with what it got.
        wrong: Those with another verdict, each with it.
        twice: Verdicts that came again, and requests sent again after their verdict.
        verdicts: So many had each status.
        retries: Attempts beyond the first.
    """

    requests: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    retries: int = 0

    @property
    def answered(self) -> int:
        """Verdicts that came, right or wrong."""
        return sum(self.verdicts.values())


class Load:
    """See the module. `async with Load(...)`: on the way out, what is under way is answered.

    Args:
        target: The gateway.
        cpp: Whether there is a compiler.
        callers: Of single requests.
        streams: Of batches.
        retry: Of the client.
    """

    def __init__(
        self,
        target: str,
        *,
        cpp: bool = True,
        callers: int = 3,
        streams: int = 1,
        retry: RetryPolicy = PATIENT,
    ) -> None:
        """Nothing is sent yet."""
        self.tally = Tally()
        self._known = itertools.cycle((*PYTHON, *CPP) if cpp else PYTHON)
        self._numbers = itertools.count(1_000_000)
        self._client = AsyncClient(target, timeout_s=TIMEOUT_S, retry=retry, max_in_flight=64)
        self._shape = (callers, streams)
        self._open: set[str] = set()
        self._recorder = Recorder(self.tally)
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._exit = contextlib.ExitStack()

    async def __aenter__(self) -> Self:
        """Begin."""
        self._exit.enter_context(self._recorder.in_place())
        callers, streams = self._shape
        self._tasks += [asyncio.create_task(self._call()) for _ in range(callers)]
        self._tasks += [asyncio.create_task(self._stream()) for _ in range(streams)]
        return self

    async def __aexit__(self, *_: object) -> None:
        """End, once everything is answered or given up."""
        self._stop.set()
        try:
            await asyncio.gather(*self._tasks)
        finally:
            await self._client.close()
            self._exit.close()

    async def answers(self, more: int) -> None:
        """Return once there are so many more answers, and to all that is under way now."""
        wanted, under_way = self.tally.answered + len(self.tally.lost) + more, set(self._open)
        while self.tally.answered + len(self.tally.lost) < wanted or under_way & self._open:
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.02)

    def _next(self) -> tuple[Known, ScoreCall]:
        known, number = next(self._known), next(self._numbers)
        self.tally.requests += 1
        self._open.add(f"chaos-{number}")
        body = known.source.replace("{n}", str(number))
        if known.language:
            body = f"```{known.language}\n{body}\n```"
        return known, ScoreCall(
            response=body,
            ground_truth=known.truth,
            limits=known.limits,
            request_id=f"chaos-{number}",
            no_cache=True,
        )

    async def _call(self) -> None:
        while not self._stop.is_set():
            known, call = self._next()
            try:
                result = await self._client.score(
                    call.response,
                    call.ground_truth,
                    limits=call.limits,
                    request_id=call.request_id,
                    no_cache=True,
                )
            except VerifierError as exc:
                self.tally.lost.append(f"{known.name}: {type(exc).__name__}: {exc}")
                self._open.discard(call.request_id)
            else:
                if result.outcome is Outcome.SCORED:
                    self._recorder.done.add(call.request_id)
                self._judge(known, result)
                self._open.discard(call.request_id)

    async def _stream(self) -> None:
        while not self._stop.is_set():
            batch = [self._next() for _ in range(BATCH)]
            results = await self._client.score_many([call for _, call in batch])
            for (known, call), result in zip(batch, results, strict=True):
                if result.request_id != call.request_id:
                    self.tally.wrong.append(f"{known.name}: the answer of another request")
                self._judge(known, result)
                self._open.discard(call.request_id)

    def _judge(self, known: Known, result: Result) -> None:
        if result.outcome is not Outcome.SCORED:
            self.tally.lost.append(f"{known.name}: {result.outcome.value}: {result.error}")
            return
        self.tally.verdicts[str(result.status)] += 1
        if (result.status, result.score) != (known.status, known.score):
            cases = ", ".join(
                f"{case.status} {case.message or case.stderr[-200:]!r}" for case in result.cases[:2]
            )
            self.tally.wrong.append(
                f"{known.name}: {result.status} {result.score}, not {known.status} {known.score}"
                f" ({cases})"
            )


async def answered(target: str, timeout_s: float = 10.0) -> bool:
    """Whether a gateway gives the right verdict on a small program, at the first attempt."""
    client = AsyncClient(target, timeout_s=timeout_s, retry=ONCE)
    number = time.monotonic_ns()
    try:
        result = await client.score(
            f"```python\nprint(sum(map(int, input().split())))  # {number}\n```", SUMS
        )
    except VerifierError:
        return False
    finally:
        await client.close()
    return (result.outcome, result.score) == (Outcome.SCORED, 1.0)


class Recorder:
    """Watches the wire of all clients of this process.

    Attributes:
        done: Ids of the requests whose verdict has come.
    """

    def __init__(self, tally: Tally) -> None:
        """It is not in place yet."""
        self._tally = tally
        self._sent: set[str] = set()
        self.done: set[str] = set()

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Every stub that is made in this block is watched."""
        plain = verifier_pb2_grpc.VerifierStub

        def watched(channel: object) -> _Stub:
            return _Stub(plain(channel), self)

        verifier_pb2_grpc.VerifierStub = watched  # type: ignore[misc, assignment]
        try:
            yield
        finally:
            verifier_pb2_grpc.VerifierStub = plain  # type: ignore[misc]

    def sent(self, request_id: str) -> None:
        """A request went out."""
        if request_id in self.done:
            self._tally.twice.append(f"{request_id} was sent again after its verdict")
        if request_id in self._sent:
            self._tally.retries += 1
        self._sent.add(request_id)

    def came(self, message: Any) -> None:
        """An answer came over a stream."""
        if message.error_code or message.outcome != verifier_pb2.OUTCOME_SCORED:
            return
        if message.request_id in self.done:
            self._tally.twice.append(f"{message.request_id} was answered again")
        self.done.add(message.request_id)


class _Stub:
    """The generated stub, watched."""

    def __init__(self, stub: Any, recorder: Recorder) -> None:
        self._stub, self._recorder = stub, recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stub, name)

    def Score(self, request: Any, **options: Any) -> Any:  # noqa: N802 - the contract names it
        self._recorder.sent(request.request_id)
        return self._stub.Score(request, **options)

    def ScoreStream(self, *args: Any, **options: Any) -> Any:  # noqa: N802 - as above
        return _Stream(self._stub.ScoreStream(*args, **options), self._recorder)


class _Stream:
    """One ScoreStream RPC, watched."""

    def __init__(self, call: Any, recorder: Recorder) -> None:
        self._call, self._recorder = call, recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    async def write(self, request: Any) -> None:
        self._recorder.sent(request.request_id)
        await self._call.write(request)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for message in self._call:
            self._recorder.came(message)
            yield message
