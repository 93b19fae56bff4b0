"""Big ground truths travel once: uploaded with PutSuite, then named by their digest.

A group of an RL step scores many responses against one ground truth. Above a size the client
uploads it when it first sees it, and every request names it. What the gateway has forgotten
meanwhile is uploaded again, once for a request. Where even that does not help (several gateways
behind one balancer, a suite that cannot be kept), the ground truth goes along with the request as
it was given. Of several gateways each has its own table, and a suite's requests go to one of them.

    unknown --(first use)--> being uploaded --> known --(the gateway forgot it)--> unknown
                                  |--(refused)--> goes along with its requests
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from verifier.client.convert import ground_truth_bytes
from verifier.client.types import ScoreCall
from verifier.errors import RequestError, SuiteError
from verifier.v1 import verifier_pb2 as pb

if TYPE_CHECKING:
    from verifier.client.gateway import Gateway

__all__ = [
    "ATTEMPTS",
    "UPLOAD_ABOVE_BYTES",
    "Big",
    "Uploads",
    "affinity",
    "big_of",
    "put_suite",
]

# One more round trip is cheaper than sending so much again.
UPLOAD_ABOVE_BYTES = 256 * 1024
# How often a request is sent by digest before its ground truth goes along.
ATTEMPTS = 2
# Uploads at once hold so many ground truths in memory.
_AT_ONCE = 4
_CHUNK_BYTES = 1024 * 1024
_MAX_REMEMBERED = 4096
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Big:
    """A ground truth that is worth an upload, by its content and what changes how it is read."""

    key: bytes


@dataclass(frozen=True, slots=True)
class _Known:
    digest: str
    # Tells one upload from the next: who was refused before it must not undo it.
    number: int


class Uploads:
    """What one client has uploaded to one gateway. Belongs to one event loop."""

    def __init__(self, put: Callable[[bytes, dict[str, str]], Awaitable[str]]) -> None:
        """Nothing is uploaded yet.

        Args:
            put: Uploads a ground truth; answers its digest.
        """
        self._put = put
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._refused: OrderedDict[bytes, None] = OrderedDict()
        self._flying: dict[bytes, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._count = 0

    def ready(self, big: Big) -> bool:
        """`named` answers at once."""
        return big.key in self._known or big.key in self._refused

    async def named(self, call: ScoreCall, big: Big) -> tuple[ScoreCall, int]:
        """The call as it is sent, and a number for `forget`.

        By digest; as it was given where the gateway refused the upload.

        Raises:
            InfraError: It could not be uploaded.
        """
        if big.key not in self._known and big.key not in self._refused:
            task = self._flying.get(big.key)
            if task is None:
                task = asyncio.create_task(self._upload(call, big))
                self._flying[big.key] = task
                task.add_done_callback(lambda done: self._landed(big, done))
            # One caller's cancellation is not the others'.
            await asyncio.shield(task)
        known = self._known.get(big.key)
        if known is None:
            return call, 0
        self._known.move_to_end(big.key)
        return dataclasses.replace(call, ground_truth=None, suite_digest=known.digest), known.number

    def forget(self, big: Big, number: int) -> None:
        """The gateway did not know what the upload of this number gave."""
        known = self._known.get(big.key)
        if known is not None and known.number == number:
            del self._known[big.key]

    async def _upload(self, call: ScoreCall, big: Big) -> None:
        first = {
            "ground_truth_format": call.ground_truth_format,
            "fn_name": call.fn_name or "",
            "data_source": call.data_source,
        }
        async with self._places:
            try:
                digest = await self._put(ground_truth_bytes(call.ground_truth), first)
            except (RequestError, SuiteError):
                # What is wrong with it, the answer to the request itself says.
                _remember(self._refused, big.key, None)
                return
        self._count += 1
        _remember(self._known, big.key, _Known(digest, self._count))

    def _landed(self, big: Big, task: asyncio.Task[None]) -> None:
        self._flying.pop(big.key, None)
        if not task.cancelled():
            task.exception()  # retrieved here too: every caller may have gone away


async def big_of(call: ScoreCall, above_bytes: int | None) -> Big | None:
    """The call's ground truth, where it is worth an upload.

    Args:
        call: Of it.
        above_bytes: Smaller ones go along with their requests; None: all do.

    Raises:
        RequestError: It cannot be written as JSON.
    """
    truth = call.ground_truth
    if above_bytes is None or truth is None or call.suite_digest is not None:
        return None
    if isinstance(truth, (str, bytes)):
        if (4 if isinstance(truth, str) else 1) * len(truth) <= above_bytes:
            return None
        # Hashing it takes a millisecond for each megabyte.
        return await asyncio.to_thread(_big, call, above_bytes)
    return _big(call, above_bytes)


def affinity(call: ScoreCall, big: Big | None) -> bytes | None:
    """What decides which gateway has the call's suite; None: any."""
    if call.suite_digest is not None:
        return call.suite_digest.encode("utf-8", "surrogatepass")
    return None if big is None else big.key


async def put_suite(
    gateway: Gateway, data: bytes, first: dict[str, str], timeout_s: float | None
) -> str:
    """Upload a ground truth in pieces; its digest.

    Raises:
        VerifierError: It was not taken.
    """

    async def pieces() -> AsyncIterator[pb.PutSuiteRequest]:
        yield pb.PutSuiteRequest(chunk=data[:_CHUNK_BYTES], **first)
        for start in range(_CHUNK_BYTES, len(data), _CHUNK_BYTES):
            yield pb.PutSuiteRequest(chunk=data[start : start + _CHUNK_BYTES])

    message: pb.PutSuiteResponse = await gateway.link.unary("PutSuite", pieces, timeout_s)
    return message.digest


def _big(call: ScoreCall, above_bytes: int) -> Big | None:
    data = ground_truth_bytes(call.ground_truth)
    if len(data) <= above_bytes:
        return None
    reading = (call.ground_truth_format, call.fn_name or "", call.data_source)
    digest = hashlib.sha256("\0".join((*reading, "")).encode("utf-8", "surrogatepass"))
    digest.update(data)
    return Big(digest.digest())


def _remember(table: OrderedDict[bytes, _T], key: bytes, value: _T) -> None:
    table[key] = value
    if len(table) > _MAX_REMEMBERED:
        table.popitem(last=False)
