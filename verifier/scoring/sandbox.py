"""Scores responses through a gateway, and says what it did when there was none.

    samples --one stream--> gateway --> results
                 |                         |
                 | unreachable       INFRA_ERROR items
                 +-----------+-------------+
                             v
              on_unavailable: fallback -> the same engine on this host (scorer "prime_code")
                              raise    -> InfraError, after the rest of the batch was scored
                              mask     -> Result with outcome INFRA_ERROR

Whichever way, the result says so: `Result.scorer` names who scored, `Result.fallback` holds the
reason, and `SandboxScorer.stats` counts both. After a gateway was unreachable, the fallback is used
without asking for `cooldown_s`, and then one batch asks while the others go on with the fallback:
a dead gateway costs one budget of retries for each `cooldown_s`, not one per response. Where nobody
stands in ("raise", "mask"), the client is patient enough for a restart of the gateway.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from verifier.errors import ConfigError, GuaranteeError, InfraError
from verifier.scoring.local import LocalEngine, local_engine
from verifier.scoring.plan import LOCAL_SCORER, Plan
from verifier.scoring.record import from_result
from verifier.scoring.sample import OPTIONS_KEY, Sample, merge_limits
from verifier.scoring.unavailable import (
    FallbackStats,
    OnUnavailable,
    reason_kind,
    report_mixed_groups,
)
from verifier.types import LimitOverrides, Result, ScorePolicy, ScoreTask

if TYPE_CHECKING:
    from verifier.client import RetryPolicy, ScoreCall

_log = logging.getLogger("verifier.scoring")

GATEWAY_SCORER = "sandbox"
DEADLINE_S = 600.0
"""Default bound on one sample: above any sane limit times a few cases, below a lost training
step."""


class StreamClient(Protocol):
    """What is needed of `verifier.client.Client`."""

    def score_many(self, requests: Sequence[ScoreCall]) -> list[Result]:
        """Score over one stream."""
        ...

    def close(self) -> None:
        """Free the channel."""
        ...


class AsyncStreamClient(Protocol):
    """What is needed of `verifier.client.AsyncClient`."""

    async def score_many(self, requests: Sequence[ScoreCall]) -> list[Result]:
        """Score over one stream."""
        ...

    async def close(self) -> None:
        """Free the channel."""
        ...


class SandboxScorer:
    """Scores code by running it. Usable as verl's `compute_score`, per sample or per batch.

    Args:
        server: "HOST:PORT" of a gateway ("verifier://HOST:PORT" too), several of them (separated by
            commas, or a sequence), or None to score on this host.
        on_unavailable: "fallback", "raise" or "mask".
        backend: Sandbox of the local engine.
        accept: Guarantees that may be missing on this host, by name.
        slots: Programs at once in the local engine; at most the cores.
        testlib: Path of a testlib.h for the local engine; by default what VERIFIER_TESTLIB names.
        limits: Replace the defaults; a row's own limits replace these.
        deadline_s: Bound on one sample.
        cooldown_s: How long the fallback is used without asking, after a gateway was unreachable.
        client_id: For fair shares in the gateway.
        retry: How often a gateway that does not answer is tried; None: the client's own way where
            the fallback stands in, for about ten seconds where nobody does.
        hedge_after_s: After so long without an answer a second gateway is asked too; None: never.
        policy: How verdicts become a score, and when a response's run is ended early.
        priority: Higher first; see `verifier.scoring.training` for what training uses.
        stats: Shared counters, or None for counters of its own.
        client: In the place of `verifier.client.Client(server)`.
        async_client: In the place of `verifier.client.AsyncClient(server)`.
        local: Gives the local engine, in the place of `local_engine`.
        clock: Monotonic seconds.

    Raises:
        ConfigError: A setting is wrong.
    """

    def __init__(
        self,
        server: str | Iterable[str] | None,
        *,
        on_unavailable: str | OnUnavailable = OnUnavailable.FALLBACK,
        backend: str = "namespaces",
        accept: Collection[str] = (),
        slots: int | None = None,
        testlib: str | None = None,
        limits: LimitOverrides = LimitOverrides(),
        deadline_s: float | None = DEADLINE_S,
        cooldown_s: float = 30.0,
        client_id: str = "",
        retry: RetryPolicy | None = None,
        hedge_after_s: float | None = None,
        policy: ScorePolicy = ScorePolicy(),
        priority: int = 0,
        stats: FallbackStats | None = None,
        client: StreamClient | None = None,
        async_client: AsyncStreamClient | None = None,
        local: Callable[[], LocalEngine] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = parse_server(server)
        self.on_unavailable = OnUnavailable.parse(on_unavailable)
        self.stats = stats or FallbackStats()
        self._local_settings: dict[str, Any] = {
            "backend": backend,
            "accept": accept,
            "slots": slots,
            "testlib": testlib,
        }
        self._limits = limits
        self._deadline_s = deadline_s
        self._cooldown_s = cooldown_s
        self._client_id = client_id
        self._retry = retry
        self._hedge_after_s = hedge_after_s
        self._policy = policy
        self._priority = priority
        self._client = client
        self._async_client = async_client
        self._local = local
        self._clock = clock
        self._always_local = self.server is None and client is None and async_client is None
        self._down_until = float("-inf")
        self._down_why = ""
        self._down_lock = threading.Lock()

    # ------------------------------------------------------------ one sample

    def score(
        self,
        response: str | bytes,
        ground_truth: object,
        *,
        request_id: str = "",
        extra_info: Mapping[str, Any] | None = None,
    ) -> Result:
        """Score one response.

        Args:
            response: The model's text.
            ground_truth: Test cases in any format of `verifier.testcases`.
            request_id: Echoed; made up when empty.
            extra_info: Its key "verifier" may hold `CallOptions`.

        Raises:
            InfraError: It could not be scored, and the policy is not "mask".
            GuaranteeError: The fallback misses a guarantee on this host.
            RequestError: The options are malformed.
        """
        return self.score_batch([_sample(response, ground_truth, request_id, extra_info)])[0]

    async def ascore(
        self,
        response: str | bytes,
        ground_truth: object,
        *,
        request_id: str = "",
        extra_info: Mapping[str, Any] | None = None,
    ) -> Result:
        """`score`, on an event loop."""
        batch = [_sample(response, ground_truth, request_id, extra_info)]
        return (await self.ascore_batch(batch))[0]

    def __call__(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: object,
        extra_info: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Score one sample with verl's signature; a dict with exactly `EXTRA_KEYS`."""
        del data_source
        _refuse_kwargs(kwargs)
        result = self.score(solution_str, ground_truth, extra_info=extra_info)
        return from_result(result).extra_info()

    # ------------------------------------------------------------ a batch

    def score_batch(self, samples: Sequence[Sample]) -> list[Result]:
        """Score samples over one stream; results in order.

        Raises:
            InfraError: A sample could not be scored and the policy is not "mask"; names the
                first, after the rest of the batch was scored.
            GuaranteeError: The fallback misses a guarantee on this host.
            RequestError: The options of a sample are malformed.
        """
        plan = Plan.of(samples)
        if self._asks_gateway(plan):
            try:
                answers = self._sync_client().score_many(self._calls(plan))
            except InfraError as error:
                self._gateway_failed(plan, f"{type(error).__name__}: {error}")
            else:
                self._gateway_answered(plan, answers)
        tasks = self._local_tasks(plan)
        if tasks:
            engine = self._get_local(plan)
            plan.take_local(tasks, engine.score_many(list(tasks.values()), plan.names(tasks)))
        return self._finish(plan)

    async def ascore_batch(self, samples: Sequence[Sample]) -> list[Result]:
        """`score_batch`, on an event loop."""
        plan = Plan.of(samples)
        if self._asks_gateway(plan):
            try:
                answers = await self._aio_client().score_many(self._calls(plan))
            except InfraError as error:
                self._gateway_failed(plan, f"{type(error).__name__}: {error}")
            else:
                self._gateway_answered(plan, answers)
        tasks = self._local_tasks(plan)
        if tasks:
            # Making the engine may probe the host: off the caller's loop.
            engine = await asyncio.get_running_loop().run_in_executor(None, self._get_local, plan)
            names = plan.names(tasks)
            plan.take_local(tasks, await engine.ascore_many(list(tasks.values()), names))
        return self._finish(plan)

    def close(self) -> None:
        """Free the synchronous client's channel. The local engine is the process's and stays."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Free the asynchronous client's channel."""
        client, self._async_client = self._async_client, None
        if client is not None:
            await client.close()

    def __getstate__(self) -> dict[str, Any]:
        # Travels to workers by pickle: channels and counters stay behind, each process has its own.
        state = dict(self.__dict__)
        state.update(_client=None, _async_client=None, stats=None, _down_until=float("-inf"))
        del state["_down_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.stats = FallbackStats()
        self._down_lock = threading.Lock()

    # ------------------------------------------------------------ the gateway's part

    def _sync_client(self) -> StreamClient:
        if self._client is None:
            from verifier.client import Client

            client = Client(self.server or "", **self._client_settings())
            self._client = cast("StreamClient", client)
        return self._client

    def _aio_client(self) -> AsyncStreamClient:
        if self._async_client is None:
            from verifier.client import AsyncClient

            client = AsyncClient(self.server or "", **self._client_settings())
            self._async_client = cast("AsyncStreamClient", client)
        return self._async_client

    def _client_settings(self) -> dict[str, Any]:
        from verifier.client import RetryPolicy

        retry = self._retry
        if retry is None:
            falls_back = self.on_unavailable is OnUnavailable.FALLBACK
            # Waits of 0.2, 0.4, ... 5, 5 s at most, half of that on average.
            retry = RetryPolicy() if falls_back else RetryPolicy(max_attempts=9, base_s=0.2)
        return {
            "client_id": self._client_id,
            "retry": retry,
            "hedge_after_s": self._hedge_after_s,
        }

    def _asks_gateway(self, plan: Plan) -> bool:
        if not plan.todo or self._always_local:
            return False
        with self._down_lock:
            now = self._clock()
            if now < self._down_until:
                plan.fail(self._down_why)
                return False
            if self._down_why:
                # One asks whether it is back; who comes meanwhile does not wait for the answer.
                self._down_until = now + self._cooldown_s
        return True

    def _calls(self, plan: Plan) -> list[ScoreCall]:
        from verifier.client import ScoreCall

        calls = []
        for position in plan.todo:
            sample, options = plan.samples[position], plan.options[position]
            named = options.ground_truth_format
            calls.append(
                ScoreCall(
                    response=sample.solution_str,
                    ground_truth=sample.ground_truth,
                    language=options.language,
                    limits=merge_limits(self._limits, options.limits),
                    request_id=sample.request_id,
                    fn_name=options.fn_name,
                    ground_truth_format="" if named == "auto" else named,
                    deadline_s=self._deadline_s,
                    data_source=str(sample.data_source),
                    policy=self._policy,
                    priority=self._priority,
                )
            )
        return calls

    def _gateway_answered(self, plan: Plan, answers: Sequence[Result]) -> None:
        why = ""
        try:
            why = plan.take_gateway(answers)
        finally:
            # That it refused one for its caller's fault is an answer too.
            if not why:
                with self._down_lock:
                    self._down_until, self._down_why = float("-inf"), ""
        if why:
            self._gateway_failed(plan, why)

    def _gateway_failed(self, plan: Plan, why: str) -> None:
        plan.fail(why)
        if self.on_unavailable is OnUnavailable.FALLBACK:
            with self._down_lock:
                self._down_until = self._clock() + self._cooldown_s
                self._down_why = why
            _log.warning("no answer from the gateway at %s; scoring here (%s)", self.server, why)

    # ------------------------------------------------------------ the local part

    def _local_tasks(self, plan: Plan) -> dict[int, ScoreTask]:
        if self._always_local or self.on_unavailable is OnUnavailable.FALLBACK:
            return plan.local_tasks(
                limits=self._limits,
                deadline_s=self._deadline_s,
                client_id=self._client_id,
                policy=self._policy,
                priority=self._priority,
            )
        return {}

    def _get_local(self, plan: Plan) -> LocalEngine:
        try:
            return (self._local or (lambda: local_engine(**self._local_settings)))()
        except GuaranteeError as error:
            why = next(iter(plan.todo.values()), "")
            if not why:
                raise
            message = f"the gateway did not score ({why}), and this host cannot stand in: {error}"
            raise GuaranteeError(message, error.missing) from error

    # ------------------------------------------------------------ the end of both

    def _finish(self, plan: Plan) -> list[Result]:
        for result in plan.done.values():
            if result.fallback:
                self.stats.count("fallback", reason=reason_kind(result.fallback))
            else:
                self.stats.count("served")
        report_mixed_groups(
            ((plan.samples[p].group, r.scorer) for p, r in sorted(plan.done.items())), self.stats
        )
        masked = self.on_unavailable is OnUnavailable.MASK
        for why in plan.todo.values():
            self.stats.count("masked" if masked else "raised", reason=reason_kind(why))
        if plan.todo and not masked:
            raise InfraError(plan.unscored())
        return plan.results(LOCAL_SCORER if self._always_local else GATEWAY_SCORER)


def parse_server(server: str | Iterable[str] | None) -> str | None:
    """Gateways as "HOST:PORT,HOST:PORT", from "verifier://HOST:PORT", "HOST:PORT" or several.

    Raises:
        ConfigError: One of them is an HTTP address.
    """
    if not server:
        return None
    from verifier.client.endpoints import parse_targets

    return ",".join(parse_targets(server))


def _sample(
    response: str | bytes,
    ground_truth: object,
    request_id: str,
    extra_info: Mapping[str, Any] | None,
) -> Sample:
    return Sample(
        data_source="",
        solution_str=response,
        ground_truth=ground_truth,
        extra_info=extra_info or {},
        request_id=request_id,
    )


def _refuse_kwargs(kwargs: Mapping[str, Any]) -> None:
    for key in kwargs:
        raise ConfigError(
            f"{key}= is not an argument of the sandbox scorer; a row's own settings go into "
            f"extra_info[{OPTIONS_KEY!r}]"
        )
