"""Fakes for tests of what stands on this package, so that nobody has to mock our types.

`FakeSandbox` runs nothing and answers from a script; `Engine(FakeSandbox(...))` is a whole engine.
`no_retry_sleep` makes a client's retries immediate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.sandbox.fake import FakeSandbox, FakeSlot, echo

if TYPE_CHECKING:
    from verifier.client.retry import no_retry_sleep

__all__ = ["FakeSandbox", "FakeSlot", "echo", "no_retry_sleep"]


def __getattr__(name: str) -> object:
    """`no_retry_sleep` on first use: the client loads grpc, the fakes do not."""
    if name == "no_retry_sleep":
        from verifier.client.retry import no_retry_sleep

        return no_retry_sleep
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
