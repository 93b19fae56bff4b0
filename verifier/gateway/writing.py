"""Answers that wait for their client to read them: counted, and not for ever.

HTTP/2 lets a client take nothing: it answers pings, and its window stays shut. What was written for
it then waits in memory. So an answer counts as held, with the requests, until gRPC has taken it;
and one that waited for `write_timeout_s` ends it: everything that its call still has is let go,
and the connection is shut. (gRPC's Python has no way for a server to cancel a call whose write is
pending, and a status cannot overtake it.) The connection of a unix socket cannot be told from
others; there the call stays with that one answer until its client goes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import psutil

from verifier._addresses import split_address
from verifier.gateway.admission import Admission

__all__ = ["Writing", "hang_up"]

_log = logging.getLogger("verifier.gateway")


class Writing:
    """The answers of one gateway.

    Args:
        admission: Where their bytes count.
        timeout_s: How long one may wait; asked for at each.
    """

    def __init__(self, admission: Admission, timeout_s: Callable[[], float]) -> None:
        """Nothing waits."""
        self._admission = admission
        self._timeout_s = timeout_s

    @contextlib.contextmanager
    def counted(self, size: int) -> Iterator[None]:
        """Count an answer's bytes in this block."""
        self._admission.hold(size)
        try:
            yield
        finally:
            self._admission.let_go(size)

    def bounded(self, context: Any, stuck: Callable[[], None]) -> asyncio.TimerHandle:
        """A timer for one write, to be cancelled when it is done."""

        def fire() -> None:
            peer = context.peer()
            _log.warning("%s does not read its answers; its call is ended", peer)
            stuck()
            hang_up(peer)

        return asyncio.get_running_loop().call_later(self._timeout_s(), fire)

    def last(self, context: Any, size: int) -> None:
        """Watch the answer of a unary call, which is written after its handler returned."""
        timer = self.bounded(context, lambda: None)
        self._admission.hold(size)

        def done(_: Any) -> None:
            timer.cancel()
            self._admission.let_go(size)

        context.add_done_callback(done)


def hang_up(peer: str) -> bool:
    """Shut the connection of this process with a peer, as gRPC names it ("ipv4:10.0.0.7:40404").

    Answers whether there was one.
    """
    kind, _, address = unquote(peer).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return False
    wanted = split_address(address)
    shut = False
    for found in psutil.Process().net_connections("tcp"):
        if found.fd == -1 or _plain(found.raddr) != wanted:
            continue
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(found.fd)) as ours:
            # Number and connection may have parted since they were listed.
            if _plain(ours.getpeername()) == wanted:
                ours.shutdown(socket.SHUT_RDWR)
                shut = True
    return shut


def _plain(address: Any) -> tuple[str, int] | None:
    # gRPC listens for IPv4 on sockets of both families.
    return (address[0].removeprefix("::ffff:"), address[1]) if address else None
