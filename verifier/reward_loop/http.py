"""JSON over HTTP with retries: what the reward model's clients share."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from verifier.errors import ConfigError, InfraError, RequestError

ATTEMPTS = 6
BASE_S = 0.25
MOST_S = 15.0


def need_aiohttp() -> Any:
    """The package aiohttp.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        import aiohttp
    except ImportError as error:
        raise ConfigError(
            "reward models need aiohttp: pip install 'sandbox-verifier[loop]'"
        ) from error
    return aiohttp


def backoff_s(attempt: int) -> float:
    """Seconds before the next attempt: exponential, with full jitter."""
    return random.uniform(0, min(MOST_S, BASE_S * 2**attempt))  # noqa: S311 - jitter, no secret


async def post_json(
    session: Any,
    url: str,
    payload: Mapping[str, Any],
    *,
    attempts: int = ATTEMPTS,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Any:
    """Post JSON, get JSON; what may pass is tried again.

    Args:
        session: An `aiohttp.ClientSession`.
        url: Where to.
        payload: What.
        attempts: In all.
        sleep: Waits for seconds.

    Raises:
        RequestError: The server refused it (4xx): it would refuse it again.
        InfraError: Nobody answered, or with 5xx or no JSON, at any attempt.
    """
    aiohttp = need_aiohttp()
    why = ""
    for attempt in range(attempts):
        if attempt:
            await sleep(backoff_s(attempt))
        try:
            async with session.post(url, json=dict(payload)) as response:
                if 400 <= response.status < 500 and response.status not in (408, 429):
                    text = (await response.text())[:500]
                    raise RequestError(url, f"HTTP {response.status}: {text}")
                if response.status < 400:
                    return await response.json(content_type=None)
                why = f"HTTP {response.status}: {(await response.text())[:200]}"
        except (aiohttp.ClientError, asyncio.TimeoutError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
    raise InfraError(f"{url}: no answer after {attempts} attempts; the last: {why}")
