"""The settings of a client, as one value that travels to a relay process too."""

from __future__ import annotations

from dataclasses import dataclass

from verifier.client.retry import RetryPolicy
from verifier.client.uploads import UPLOAD_ABOVE_BYTES

__all__ = ["Options"]


_DEFAULT_RETRY = RetryPolicy()


@dataclass(frozen=True, slots=True)
class Options:
    """See `AsyncClient`, whose arguments these are."""

    timeout_s: float | None = 600.0
    client_id: str = ""
    retry: RetryPolicy = _DEFAULT_RETRY
    max_in_flight: int = 128
    upload_above_bytes: int | None = UPLOAD_ABOVE_BYTES
    hedge_after_s: float | None = None
