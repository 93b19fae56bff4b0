"""Whether gRPC can be used in this process.

gRPC survives no fork: in a child forked after its parent made one call, every call hangs, through
new channels too, of the aio and of the plain API alike (tried with grpcio 1.85;
`GRPC_ENABLE_FORK_SUPPORT=1` helps the plain API only, and has to be set before gRPC is loaded). So
whoever makes a channel or a server says so here, and a client in a child of such a process takes
another way (`verifier.client.relay`).
"""

from __future__ import annotations

import os

__all__ = ["forked_after_use", "mark_used"]

# Copied by a fork, which is the point: a child finds its parent's pid here, and not its own.
_used_in: set[int] = set()


def mark_used() -> None:
    """Remember that this process uses gRPC."""
    _used_in.add(os.getpid())


def forked_after_use() -> bool:
    """Whether a parent of this process used gRPC before the fork: then it is unusable here."""
    return bool(_used_in) and os.getpid() not in _used_in
