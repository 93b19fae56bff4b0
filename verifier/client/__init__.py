"""The client of the gateway: `AsyncClient`, and `Client`, its synchronous twin.

with Client("127.0.0.1:50051") as client:
    result = client.score(response, ground_truth)
    results = client.score_many([ScoreCall(response, ground_truth) for response in responses])
"""

from __future__ import annotations

from verifier.client.aio import AsyncClient
from verifier.client.retry import RetryPolicy, no_retry_sleep
from verifier.client.sync import Client
from verifier.client.types import LanguageInfo, RunCall, ScoreCall, ServerInfo

__all__ = [
    "AsyncClient",
    "Client",
    "LanguageInfo",
    "RetryPolicy",
    "RunCall",
    "ScoreCall",
    "ServerInfo",
    "no_retry_sleep",
]
