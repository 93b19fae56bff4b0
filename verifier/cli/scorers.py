"""Who scores a row: an engine of our own, or a gateway. Both answer the same `Result` for it.

A row that cannot be scored is a result too: broken data (also a limit over the ceiling, or a
language nobody knows) is INVALID_SUITE, everything else is INFRA_ERROR. Neither stops the rest.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verifier.data import Row, RowScorer
from verifier.errors import (
    GatewayUnavailableError,
    InfraError,
    OverloadedError,
    RequestError,
    SuiteError,
    UnimplementedError,
    UnknownSuiteError,
    VerifierError,
)
from verifier.types import Outcome, Result, ScoreTask

if TYPE_CHECKING:
    from verifier.client import AsyncClient, ServerInfo
    from verifier.engine import Engine

_CLIENT_ID = "verifier-cli"
_PROBE_S = 10.0
# A busy gateway refuses at once when its queue is full: ten tries wait about half a minute.
_ROW_ATTEMPTS = 10
# Between two looks at a gateway that is away.
_PAUSE_S = 2.0


class EngineScorer:
    """Scores with a sandbox of this process."""

    def __init__(self, engine: Engine, *, no_cache: bool = False) -> None:
        """Take a started engine. `no_cache`: every row runs, though an equal one has run."""
        self._engine = engine
        self._no_cache = no_cache

    @property
    def slots(self) -> int:
        """Slots of the engine."""
        return self._engine.info().slots

    @property
    def backend(self) -> str:
        """The engine's."""
        return self._engine.sandbox.name

    async def score(self, row: Row) -> Result:
        """Read the row's ground truth and hand both to the engine."""
        from verifier.engine.patience import patiently
        from verifier.testcases import load_suite

        try:
            task = ScoreTask(
                response=row.response,
                suite=load_suite(row.ground_truth),
                language=row.language,
                limits=row.limits,
                request_id=str(row.line),
                client_id=_CLIENT_ID,
                no_cache=self._no_cache,
            )
            return await patiently(lambda: self._engine.score(task))
        except VerifierError as error:
            return unscored(error)

    async def close(self) -> None:
        """Close the engine."""
        await self._engine.close()


class GatewayScorer:
    """Scores with a gateway, one call a row.

    While no gateway answers, rows wait: it is being restarted, or the network is away for a minute.
    """

    def __init__(
        self,
        client: AsyncClient,
        info: ServerInfo,
        gateways: int = 1,
        *,
        no_cache: bool = False,
        patience_s: float = 0.0,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take a client, and what a gateway said of itself.

        Args:
            client: Closed with the scorer.
            info: Of a gateway.
            gateways: How many there are of its kind.
            no_cache: Every row runs, though an equal one has run.
            patience_s: How long a row waits for a gateway that is away, or full.
            say: Told when rows begin to wait, and when they no longer do.
        """
        self._client = client
        self._info = info
        self._gateways = gateways
        self._no_cache = no_cache
        self._patience_s = patience_s
        self._say = say
        self._away = False

    @property
    def slots(self) -> int:
        """Slots of the gateways."""
        return self._info.slots * self._gateways

    @property
    def backend(self) -> str:
        """The gateway's."""
        return self._info.backend

    async def score(self, row: Row) -> Result:
        """Send the row as it is: the gateway reads the ground truth."""
        began = time.monotonic()
        try:
            # Nobody tells when it is back: it is asked.
            while (result := await self._unless_away(row, began)) is None:  # noqa: ASYNC110
                await asyncio.sleep(min(_PAUSE_S, self._patience_s))
        except VerifierError as error:
            return unscored(error)
        if self._away:
            self._away = False
            self._say("the gateway answers again")
        return result

    async def _unless_away(self, row: Row, began: float) -> Result | None:
        """None while the gateway is away and there is patience left."""
        try:
            return await self._once(row)
        # A suite that was let go between its upload and its use is sent again.
        except (GatewayUnavailableError, OverloadedError, UnknownSuiteError) as error:
            if time.monotonic() - began >= self._patience_s:
                raise
            if not self._away:
                self._away = True
                self._say(f"waiting for the gateway, {self._patience_s:g} s at most: {error}")
            return None

    async def _once(self, row: Row) -> Result:
        truth = _json_bytes(row.ground_truth)
        if len(truth) + len(row.response) > self._info.max_message_bytes // 2:
            digest = await self._client.put_suite(truth, data_source=row.data_source)
            return await self._score(row, suite_digest=digest)
        return await self._score(row, ground_truth=truth)

    async def _score(
        self, row: Row, *, ground_truth: bytes | None = None, suite_digest: str | None = None
    ) -> Result:
        return await self._client.score(
            row.response,
            ground_truth,
            suite_digest=suite_digest,
            language=row.language,
            limits=row.limits,
            data_source=row.data_source.encode("utf-8", "backslashreplace").decode(),
            request_id=str(row.line),
            no_cache=self._no_cache,
        )

    async def close(self) -> None:
        """Close the channel."""
        await self._client.close()


def _json_bytes(ground_truth: object) -> bytes:
    """A ground truth as it is sent: text as it is, anything else as JSON.

    Raises:
        SuiteError: It cannot be written.
    """
    if isinstance(ground_truth, str):
        return ground_truth.encode("utf-8", "surrogatepass")
    try:
        return json.dumps(ground_truth).encode()
    except RecursionError:
        raise SuiteError("ground_truth", "nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise SuiteError("ground_truth", str(error)) from None


def unscored(error: VerifierError) -> Result:
    """An error about one row as that row's result."""
    if isinstance(error, (SuiteError, RequestError)):
        return Result(Outcome.INVALID_SUITE, error=str(error))
    problem = str(error)
    if isinstance(error, UnimplementedError):
        problem = f"not implemented: {error}"
    elif not isinstance(error, InfraError):
        problem = f"{type(error).__name__}: {error}"
    return Result(Outcome.INFRA_ERROR, error=problem)


async def open_engine(
    backend: str | None = None,
    *,
    slots: int | None = None,
    accept: frozenset[str] = frozenset(),
    allow_unsafe: bool = False,
    image: str | None = None,
    runtime: str | None = None,
    testlib: Path | None = None,
) -> Engine:
    """A started engine with a sandbox of its own.

    What is not given here is taken from the settings file and the environment, as `serve` does.

    Raises:
        ConfigError: A setting is wrong.
        GuaranteeError: The host lacks a guarantee that was not accepted by name.
        BackendError: The backend cannot serve.
    """
    from verifier.config import load_settings
    from verifier.engine import engine_of, make_sandbox

    flags = {
        "backend": backend,
        "slots": slots,
        "accept": ",".join(sorted(accept)) or None,
        "allow_unsafe": allow_unsafe or None,
        "image": image,
        "runtime": runtime,
        "testlib": None if testlib is None else str(testlib),
    }
    settings = load_settings(flags=flags).settings
    sandbox = make_sandbox(
        settings.backend,
        accept=settings.accept,
        allow_unsafe=settings.allow_unsafe,
        image=settings.image,
        runtime=settings.runtime,
        runners_dir=settings.runners_dir,
        cache_dir=settings.cache_dir,
    )
    engine = engine_of(settings, sandbox)
    try:
        await engine.start()
    except BaseException:
        await engine.close()
        raise
    return engine


async def open_gateway(
    server: str,
    *,
    no_cache: bool = False,
    patience_s: float = 0.0,
    say: Callable[[str], None] = lambda _: None,
) -> GatewayScorer:
    """A scorer over a gateway that answers; for the arguments see `GatewayScorer`.

    Raises:
        GatewayUnavailableError: Nobody answers there.
    """
    from verifier.client import AsyncClient, RetryPolicy
    from verifier.client.endpoints import parse_targets

    # A person waits for the first answer, and for the rows a program does: it may be patient.
    probe = AsyncClient(server, client_id=_CLIENT_ID, timeout_s=_PROBE_S)
    try:
        info = await probe.info()
    finally:
        await probe.close()
    retry = RetryPolicy(max_attempts=_ROW_ATTEMPTS)
    client = AsyncClient(server, client_id=_CLIENT_ID, timeout_s=None, retry=retry)
    return GatewayScorer(
        client,
        info,
        len(parse_targets(server)),
        no_cache=no_cache,
        patience_s=patience_s,
        say=say,
    )


async def open_scorer(
    server: str | None,
    *,
    no_cache: bool,
    patience_s: float = 0.0,
    say: Callable[[str], None] = lambda _: None,
    **sandbox: Any,
) -> RowScorer:
    """Over the gateway that is named, else with a sandbox of this process.

    Args:
        server: As `--server` has it.
        no_cache: Run each program, also one whose result is known.
        patience_s: Of a row for a gateway that is away.
        say: Gets what a user should know meanwhile.
        sandbox: The arguments of `open_engine`, which say what it raises.

    Raises:
        GatewayUnavailableError: Nobody answers at `server`.
    """
    if server is not None:
        return await open_gateway(server, no_cache=no_cache, patience_s=patience_s, say=say)
    return EngineScorer(await open_engine(**sandbox), no_cache=no_cache)


async def open_cluster(
    server: str | None,
    *,
    no_cache: bool,
    patience_s: float,
    say: Callable[[str], None],
    address: str | None = None,
    actors: int | None = None,
    slots: int | None = None,
    **sandbox: Any,
) -> RowScorer:
    """Over a Ray cluster, whose actors hold what `open_scorer` opens.

    Args:
        server: As for `open_scorer`, as the nodes see it.
        no_cache: As for `open_scorer`.
        patience_s: The same; also of all rows while no actor is there.
        say: As for `open_scorer`.
        address: As `--ray-address` has it.
        actors: How many; one for each node with cores, if None.
        slots: Of each actor.
        sandbox: The other arguments of `open_engine`.

    Raises:
        VerifierError: See `open_ray_scorer`.
    """
    from verifier.cli.pipeline import IN_FLIGHT_PER_SLOT
    from verifier.data.ray_engine import open_ray_scorer

    return await open_ray_scorer(
        functools.partial(open_scorer, server, no_cache=no_cache, patience_s=patience_s, **sandbox),
        address=address,
        actors=actors,
        slots=slots,
        clients=server is not None,
        per_slot=IN_FLIGHT_PER_SLOT,
        patience_s=patience_s,
        say=say,
    )
