"""What is left of an RPC's time."""

from __future__ import annotations

from typing import Any

__all__ = ["seconds_left"]


def seconds_left(context: Any) -> float | None:
    """Seconds until the deadline of an RPC; None without one.

    gRPC converts the deadline to the wall clock and then takes the wall clock from it. Where the
    clock is set between the two it says that nothing is left, and a verdict would be lost: nothing
    left is believed when it is said twice.
    """
    left: float | None = context.time_remaining()
    if left is not None and left <= 0:
        left = context.time_remaining()
    return left
