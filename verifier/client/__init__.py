"""The client of the gateway: `AsyncClient`, and `Client`, its synchronous twin.

with Client("127.0.0.1:50051") as client:
    result = client.score(response, ground_truth)
    results = client.score_many([ScoreCall(response, ground_truth) for response in responses])

Every name is loaded when it is first used: who only reads an address loads no grpc.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verifier.client.aio import AsyncClient
    from verifier.client.counts import ClientCounts
    from verifier.client.retry import RetryPolicy, no_retry_sleep
    from verifier.client.sync import Client
    from verifier.client.types import LanguageInfo, RunCall, ScoreCall, ServerInfo

__all__ = [
    "AsyncClient",
    "Client",
    "ClientCounts",
    "LanguageInfo",
    "RetryPolicy",
    "RunCall",
    "ScoreCall",
    "ServerInfo",
    "no_retry_sleep",
]

_WHERE = {
    "AsyncClient": "aio",
    "Client": "sync",
    "ClientCounts": "counts",
    "LanguageInfo": "types",
    "RetryPolicy": "retry",
    "RunCall": "types",
    "ScoreCall": "types",
    "ServerInfo": "types",
    "no_retry_sleep": "retry",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
