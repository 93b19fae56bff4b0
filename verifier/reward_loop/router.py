"""Spreads requests over the replicas of a reward model: the one with the fewest is next.

    python -m verifier.reward_loop.router --worker http://HOST:PORT [--worker ...] [--port 0]

A request counts against its replica until the last byte of the answer went out, or it failed: the
count goes down on every way out. What failed before an answer began is tried on another replica
(with a pause once all were tried); once bytes were passed on, nothing is retried. An answer of 4xx
is the caller's and passes through; of 5xx it is retried, and passes through when attempts are used
up. Bodies stream in both directions of an answer, so a model's tokens arrive as they are made.

`/health` is this router's own: 200 while a replica answers its `/health`.
"""

from __future__ import annotations

import argparse
import asyncio
import binascii
import logging
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from verifier.errors import ConfigError
from verifier.reward_loop.http import backoff_s, need_aiohttp

_log = logging.getLogger("verifier.reward_loop.router")

# Between two neighbors only (RFC 9110, 7.6.1), or made anew by each.
_HOP = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_MAX_BODY = 64 * 1024 * 1024
_HEALTH_S = 5.0


class Balance:
    """How many requests each worker has.

    Args:
        workers: Their addresses.
        deterministic: Of equally loaded workers, choose by a hash of the request rather than the
            first: the same request reaches the same replica in every run.

    Raises:
        ConfigError: There is none, or one twice.
    """

    def __init__(self, workers: Sequence[str], *, deterministic: bool = False) -> None:
        if not workers or len(set(workers)) != len(workers):
            raise ConfigError(f"workers={list(workers)}: give one or more, each once")
        self.counts = dict.fromkeys(workers, 0)
        self._deterministic = deterministic

    def take(self, body: bytes = b"", but: frozenset[str] = frozenset()) -> str:
        """The least loaded worker, counted; those in `but` only when there is no other."""
        open_to = [w for w in self.counts if w not in but] or list(self.counts)
        least = min(self.counts[worker] for worker in open_to)
        equal = [worker for worker in open_to if self.counts[worker] == least]
        # crc32 is the same on every platform and in every process, unlike hash().
        chosen = equal[binascii.crc32(body) % len(equal) if self._deterministic else 0]
        self.counts[chosen] += 1
        return chosen

    def give_back(self, worker: str) -> None:
        """One request of a worker is over."""
        self.counts[worker] -= 1


class Router:
    """The proxy, as an aiohttp application.

    Args:
        balance: Chooses workers.
        attempts: How often a request is tried, in all.
        sleep: Waits for seconds.
    """

    def __init__(
        self,
        balance: Balance,
        *,
        attempts: int = 3,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._aiohttp = need_aiohttp()
        self.balance = balance
        self._attempts = attempts
        self._sleep = sleep
        self._session: Any = None

    def app(self) -> Any:
        """The application."""
        from aiohttp import web

        app = web.Application(client_max_size=_MAX_BODY)
        app.cleanup_ctx.append(self._connections)
        app.router.add_get("/health", self._health)
        app.router.add_route("*", "/{path:.*}", self._forward)
        return app

    async def _connections(self, app: Any) -> Any:
        del app
        timeout = self._aiohttp.ClientTimeout(total=None, sock_connect=10)
        connector = self._aiohttp.TCPConnector(limit=1024)
        async with self._aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            self._session = session
            yield

    async def _health(self, request: Any) -> Any:
        del request
        from aiohttp import web

        states = await asyncio.gather(*(self._answers(w) for w in self.balance.counts))
        workers = dict(zip(self.balance.counts, states, strict=True))
        return web.json_response({"workers": workers}, status=200 if any(states) else 503)

    async def _answers(self, worker: str) -> bool:
        try:
            timeout = self._aiohttp.ClientTimeout(total=_HEALTH_S)
            async with self._session.get(f"{worker}/health", timeout=timeout) as response:
                return bool(response.status < 500)
        except (self._aiohttp.ClientError, asyncio.TimeoutError):
            return False

    async def _forward(self, request: Any) -> Any:
        from aiohttp import web

        body = await request.read()
        tried: frozenset[str] = frozenset()
        why = ""
        for attempt in range(self._attempts):
            if attempt and len(tried) >= len(self.balance.counts):
                await self._sleep(backoff_s(attempt))
            worker = self.balance.take(body, tried)
            tried |= {worker}
            try:
                answer, why = await self._ask(
                    worker, request, body, last=attempt + 1 == self._attempts
                )
            finally:
                self.balance.give_back(worker)
            if answer is not None:
                return answer
            _log.warning("%s: %s (attempt %d)", worker, why, attempt + 1)
        return web.json_response(
            {"error": f"no replica answered after {self._attempts} attempts; the last: {why}"},
            status=503,
        )

    async def _ask(self, worker: str, request: Any, body: bytes, *, last: bool) -> tuple[Any, str]:
        """The answer that was passed on, or why there is none."""
        from aiohttp import web

        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP}
        passed = None
        try:
            async with self._session.request(
                request.method,
                f"{worker}{request.path_qs}",
                data=body or None,
                headers=headers,
                allow_redirects=False,
            ) as response:
                if response.status >= 500 and not last:
                    return None, f"HTTP {response.status}"
                passed = web.StreamResponse(status=response.status, reason=response.reason)
                for key, value in response.headers.items():
                    if key.lower() not in _HOP:
                        passed.headers.add(key, value)
                await passed.prepare(request)
                async for chunk in response.content.iter_any():
                    await passed.write(chunk)
                await passed.write_eof()
                return passed, ""
        except (self._aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            if passed is not None and passed.prepared:
                # The caller has half an answer: end the connection, so that it can tell.
                if request.transport is not None:
                    request.transport.abort()
                raise
            return None, f"{type(error).__name__}: {error}"


async def serve(router: Router, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; says the address on standard output."""
    from aiohttp import web

    runner = web.AppRunner(
        router.app(), handler_cancellation=True, access_log=None, shutdown_timeout=1.0
    )
    await runner.setup()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        print(f"router listening on {host}:{runner.addresses[0][1]}", flush=True)  # noqa: T201 - who started this reads it
        await stop.wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Least-loaded router for reward models.")
    parser.add_argument("--worker", action="append", required=True, metavar="URL")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--deterministic", action="store_true")
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    balance = Balance([w.rstrip("/") for w in args.worker], deterministic=args.deterministic)
    asyncio.run(serve(Router(balance, attempts=args.attempts), args.host, args.port))


if __name__ == "__main__":
    main()
