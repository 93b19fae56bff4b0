"""Suites by content: each ground truth is parsed once, however many responses come with it.

A group of an RL step sends one ground truth with each of its responses. The store maps the digest
of the raw bytes to the parsed suite, and the suite's own digest to it too, so that an uploaded
suite can be named. It holds what it holds within a budget of bytes; the least recently used go
first.

Where there is a folder for it, what was uploaded is on disk too, as it came, and beside it under
the suite's digest the name of that: a suite that memory has let go is read back by its digest,
parsed again, and believed only if that gives the same digest. It is written before it is parsed,
since parsing lets go of what it has read: an upload is in memory about once at any time.

Parsing is pure and may be slow, so anything big is parsed in a thread, once for all who wait for
it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hashlib
import json
import re
import struct
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from verifier._disk_cache import DiskCache
from verifier.errors import RequestError, SuiteError, UnknownSuiteError
from verifier.testcases import Pieces, load_suite
from verifier.types import Suite

__all__ = ["Source", "SuiteStore", "suite_disk"]

_T = TypeVar("_T")

# Above this, parsing could hold the event loop for more than some milliseconds: 64 KB of the
# smallest cases are about 7,000 of them.
_INLINE_BYTES = 64 * 1024
# Threads share one interpreter lock: more of them parse no faster and leave the loop less.
_PARSERS = 2
# What a case costs in memory besides its data.
_CASE_OVERHEAD = 250
# And another text of the same suite (blanks, fields that nobody reads).
_KEY_COST = 250
_MAX_REMEMBERED_ERRORS = 1024
# How `_disk_key` names things.
_DISK_KEY = re.compile(r"[0-9a-f]{64}")
_LENGTH = struct.Struct("!I")
# Parsing frees what it has read, and the C library would keep that.
_TRIM_ABOVE_BYTES = 4 * 1024 * 1024


def suite_disk(cache_dir: str | None, budget_bytes: int) -> DiskCache | None:
    """Where uploaded suites are kept below the operator's folder; None where there is no folder."""
    if not cache_dir:
        return None
    return DiskCache(Path(cache_dir).expanduser().resolve() / "suites", budget_bytes)


@dataclass(slots=True)
class Source:
    """A ground truth as it came over the wire, and what changes how it is read.

    Attributes:
        data: Its bytes; the pieces of an upload, which are let go of while they are parsed.
        fmt: One of `verifier.testcases.FORMATS`.
        fn_name: The function to call, where the ground truth does not name it itself.
    """

    data: bytes | list[bytes]
    fmt: str = "auto"
    fn_name: str | None = None

    @property
    def pieces(self) -> list[bytes]:
        """The bytes, in their order."""
        return self.data if isinstance(self.data, list) else [self.data]

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    def key(self) -> bytes:
        """The digest that stands for it."""
        head = f"{self.fmt}\0{self.fn_name or ''}\0".encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(head)
        for piece in self.pieces:
            digest.update(piece)
        return digest.digest()


@dataclass(slots=True)
class _Entry:
    suite: Suite
    cost: int
    keys: set[bytes] = field(default_factory=set)


class SuiteStore:
    """Parsed suites within a budget.

    Args:
        budget_bytes: Memory of the suites that are kept. One that is bigger than this is parsed,
            not kept.
        max_cases: Cases of one suite; more is a `SuiteError`.
        parse: In the place of `verifier.testcases.load_suite`.
        disk: For uploads, behind the memory.

    Attributes:
        hits: Suites that memory had.
        misses: Those that were parsed, or looked for on disk.
    """

    def __init__(
        self,
        budget_bytes: int,
        *,
        max_cases: int = 100_000,
        parse: Callable[..., Suite] = load_suite,
        disk: DiskCache | None = None,
    ) -> None:
        """An empty store."""
        self._budget = budget_bytes
        self._disk = disk
        self._max_cases = max_cases
        self._parse = parse
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._by_key: dict[bytes, str] = {}
        self._errors: OrderedDict[bytes, SuiteError] = OrderedDict()
        self._pending: dict[bytes, asyncio.Task[Suite]] = {}
        self._used = 0
        self.hits = 0
        self.misses = 0
        self._threads = ThreadPoolExecutor(_PARSERS, thread_name_prefix="verifier-suite")

    @property
    def used_bytes(self) -> int:
        """What the suites that are kept cost."""
        return self._used

    def __len__(self) -> int:
        return len(self._entries)

    def adjust(self, max_cases: int) -> None:
        """Another bound for the suites that are parsed from now on."""
        self._max_cases = max_cases
        self._errors.clear()  # one of them may be fine by now

    def close(self) -> None:
        """Free the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._disk is not None:
            self._disk.close()

    @property
    def problem(self) -> str:
        """Why the disk is not used at the moment; "" while it is, or where there is none."""
        return "" if self._disk is None else self._disk.problem

    def get(self, digest: str) -> Suite:
        """The suite with this digest, if memory holds it.

        Raises:
            UnknownSuiteError: It does not.
        """
        entry = self._entries.get(digest)
        if entry is None:
            raise _unknown(digest)
        self._entries.move_to_end(digest)
        return entry.suite

    async def fetch(self, digest: str) -> Suite:
        """The suite with this digest, wherever it is.

        Raises:
            UnknownSuiteError: It is not held.
        """
        if self._disk is None or digest in self._entries:
            suite = self.get(digest)
            self.hits += 1
            return suite
        self.misses += 1
        return await self._shared(_disk_key(digest).encode(), lambda: self._read(digest))

    async def put(self, source: Source) -> Suite:
        """An upload: `load`, and it can be named by its digest afterwards.

        Raises:
            SuiteError: It is unusable.
            RequestError: It cannot be kept.
        """
        if self._disk is None:
            suite = await self.load(source)
        else:
            # First: parsing lets go of it.
            name = await self._in_thread(lambda: self._write(source))
            try:
                suite = await self.load(source)
            except SuiteError:
                await self._in_thread(lambda: self._forget_written(name))
                raise
            await self._in_thread(lambda: self._point(suite.digest, name))
            return suite
        if suite.digest not in self._entries:
            raise RequestError(
                "chunk",
                f"the suite takes {_cost(suite)} bytes of memory, and all suites together may take "
                f"{self._budget}: send it with each request, or raise suite_store_bytes",
            )
        return suite

    async def load(self, source: Source) -> Suite:
        """The suite of a ground truth, parsed at most once.

        Raises:
            SuiteError: It is unusable.
        """
        big = len(source) > _INLINE_BYTES
        key = await self._in_thread(source.key) if big else source.key()
        digest = self._by_key.get(key)
        if digest is not None:
            self.hits += 1
            return self.get(digest)
        self.misses += 1
        if key in self._errors:
            self._errors.move_to_end(key)
            raise _copy(self._errors[key])
        if not big:
            try:
                suite = self._parse_now(source)
            except SuiteError as exc:
                raise self._remember(key, exc) from None
            return self._keep(key, suite, _cost(suite))
        return await self._shared(key, lambda: self._parse_big(key, source))

    async def _shared(self, key: bytes, work: Callable[[], Coroutine[Any, Any, Suite]]) -> Suite:
        """Once for all who want it at a time."""
        task = self._pending.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._pending[key] = task
            task.add_done_callback(lambda done: self._forget(key, done))
        # One caller's cancellation is not the others'.
        return await asyncio.shield(task)

    async def _parse_big(self, key: bytes, source: Source) -> Suite:
        try:
            suite, cost = await self._in_thread(lambda: _with_cost(self._parse_now(source)))
        except SuiteError as exc:
            raise self._remember(key, exc) from None
        if cost > _TRIM_ABOVE_BYTES:
            await self._in_thread(_trim)
        return self._keep(key, suite, cost)

    async def _read(self, digest: str) -> Suite:
        """From the disk."""

        def read() -> tuple[bytes, Suite, int] | None:
            disk, pointer = self._disk, _disk_key(digest)
            found = None if disk is None else disk.get(pointer)
            if disk is None or found is None:
                return None
            name = bytes(found).decode("ascii", "replace")
            if not _DISK_KEY.fullmatch(name):
                disk.remove(pointer)
                return None
            data = disk.get(name)
            source = None if data is None else _source_of(data)
            del data
            key = b"" if source is None else source.key()
            if source is None or _disk_key(key.hex()) != name:
                disk.remove(pointer)
                disk.remove(name)
                return None
            try:
                suite = self._parse_now(source)
            except SuiteError:
                suite = None
            if suite is None or suite.digest != digest:
                disk.remove(pointer)
                return None
            return key, suite, _cost(suite)

        found = await self._in_thread(read)
        if found is None:
            raise _unknown(digest)
        return self._keep(*found)

    def _write(self, source: Source) -> str:
        """To the disk, once, under a name that stands for its bytes."""
        head = json.dumps({"fmt": source.fmt, "fn_name": source.fn_name}).encode()
        name = _disk_key(source.key().hex())
        if self._disk is not None and not self._disk.touch(name):
            self._disk.put(name, _LENGTH.pack(len(head)), head, *source.pieces)
        return name

    def _point(self, digest: str, name: str) -> None:
        """The suite of this digest is read from what has this name."""
        if self._disk is not None:
            self._disk.put(_disk_key(digest), name.encode())

    def _forget_written(self, name: str) -> None:
        if self._disk is not None:
            self._disk.remove(name)

    def _forget(self, key: bytes, done: asyncio.Task[Suite]) -> None:
        self._pending.pop(key, None)
        if not done.cancelled():
            done.exception()  # Retrieved here too: every caller may have gone away.

    def _parse_now(self, source: Source) -> Suite:
        data = source.data
        return self._parse(
            Pieces(data) if isinstance(data, list) else data,
            fmt=source.fmt,
            fn_name=source.fn_name,
            max_cases=self._max_cases,
        )

    def _remember(self, key: bytes, error: SuiteError) -> SuiteError:
        # A fresh one each time: an exception that is raised again keeps frames, and the data in
        # them, alive.
        self._errors[key] = _copy(error)
        if len(self._errors) > _MAX_REMEMBERED_ERRORS:
            self._errors.popitem(last=False)
        return error

    def _keep(self, key: bytes, suite: Suite, cost: int) -> Suite:
        entry = self._entries.get(suite.digest)
        if entry is None:
            entry = _Entry(suite, cost)
            if entry.cost > self._budget:
                return suite
            self._entries[suite.digest] = entry
            self._used += entry.cost
            self._evict()
        if key not in entry.keys:
            entry.keys.add(key)
            self._by_key[key] = suite.digest
            entry.cost += _KEY_COST
            self._used += _KEY_COST
            self._evict()
        return entry.suite

    def _evict(self) -> None:
        while self._used > self._budget:
            _, entry = self._entries.popitem(last=False)
            self._used -= entry.cost
            for key in entry.keys:
                del self._by_key[key]

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _trim() -> None:
    """Give freed memory back to the system, where the C library is glibc."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _unknown(digest: str) -> UnknownSuiteError:
    return UnknownSuiteError(
        "suite_digest", f"{digest[:80]!r} is not held here: upload it with PutSuite"
    )


def _disk_key(digest: str) -> str:
    # What a request names never becomes a file name as it is.
    return hashlib.sha256(digest.encode("utf-8", "surrogatepass")).hexdigest()


def _source_of(data: memoryview) -> Source | None:
    """What `_write` wrote."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        head = json.loads(bytes(data[_LENGTH.size : _LENGTH.size + length]))
        return Source([bytes(data[_LENGTH.size + length :])], head["fmt"], head["fn_name"])
    except (ValueError, LookupError, TypeError, struct.error):
        return None


def _copy(error: SuiteError) -> SuiteError:
    return SuiteError(error.field, error.problem)


def _with_cost(suite: Suite) -> tuple[Suite, int]:
    return suite, _cost(suite)


def _cost(suite: Suite) -> int:
    cost = 1000
    for helper in (suite.checker, suite.interactor):
        if helper is not None:
            cost += 2 * len(helper.source) + sum(len(content) for _, content in helper.files)
    for case in suite.cases:
        cost += (
            _CASE_OVERHEAD + len(case.stdin) + len(case.expected or b"") + 2 * len(case.test or "")
        )
    return cost
