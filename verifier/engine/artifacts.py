"""Compiled programs, kept by content: in memory, and on disk where there is a folder for it.

Equal ones in flight are compiled once. Both tiers have a budget of bytes. What is on disk outlives
the process and may be shared by several; what it holds is checked before it is believed
(`_disk_cache`), and it is written behind the verdict, which never waits for it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import platform
import struct
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping

from verifier._disk_cache import DiskCache
from verifier._version import __version__
from verifier.languages import Recipe
from verifier.types import CompileFacts, Killer, Program, RunFacts

BUDGET_BYTES = 256 * 1024 * 1024
# What an entry costs beside its artifact: diagnostics, facts, keys.
ENTRY_BYTES = 2048
# Writes that wait for the disk hold their artifacts: beyond these, a compile is not kept there.
MAX_WRITES = 16
_LENGTH = struct.Struct("!I")
_COUNTS = ("cpu_time_s", "wall_time_s", "memory_bytes", "stdout_bytes", "stderr_bytes")


def artifact_key(
    program: Program, recipe: Recipe, toolchain: str, files: Mapping[str, bytes] | None = None
) -> str:
    """Content, flags and toolchain: whatever could make another artifact makes another key."""
    digest = hashlib.sha256()
    for part in (
        program.language,
        toolchain,
        *recipe.compile_command(program.source),
        "\0",
        *recipe.outputs,
        *map(repr, recipe.env),
    ):
        data = part.encode("utf-8", "surrogateescape")
        digest.update(len(data).to_bytes(8, "big") + data)
    for name, content in (files or {}).items():
        for data in (name.encode("utf-8", "surrogateescape"), content):
            digest.update(len(data).to_bytes(8, "big") + data)
    digest.update(program.source)
    return digest.hexdigest()


class ArtifactCache:
    """LRU by bytes. Belongs to one event loop.

    Attributes:
        scope: What an artifact depends on beside its key and is the same for all of this cache: the
            sandbox. Part of the keys on disk, together with our version and the machine's kind.
    """

    def __init__(self, budget_bytes: int = BUDGET_BYTES, disk: DiskCache | None = None) -> None:
        """An artifact bigger than the budget is used and not kept. The disk is the second tier."""
        self._budget = budget_bytes
        self._disk = disk
        self._writes: set[asyncio.Task[None]] = set()
        self.scope = ""
        self._entries: OrderedDict[str, CompileFacts] = OrderedDict()
        self._size = 0
        self._flying: dict[str, asyncio.Future[CompileFacts]] = {}
        self.hits = 0
        self.misses = 0

    async def close(self) -> None:
        """Let the writes under way finish."""
        await asyncio.gather(*self._writes, return_exceptions=True)
        if self._disk is not None:
            self._disk.close()

    @property
    def problem(self) -> str:
        """Why the disk is not used at the moment; "" while it is, or where there is none."""
        return "" if self._disk is None else self._disk.problem

    @property
    def size_bytes(self) -> int:
        """What the entries hold."""
        return self._size

    def peek(self, key: str) -> CompileFacts | None:
        """A kept artifact, marked cached."""
        found = self._entries.get(key)
        if found is None:
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return dataclasses.replace(found, cached=True)

    async def get(
        self,
        key: str,
        compile_now: Callable[[], Awaitable[CompileFacts]],
        *,
        lasting: bool = False,
    ) -> CompileFacts:
        """The artifact of `key`; compiles at most once at a time.

        A failed compile is kept like any other.

        Compilers that were killed by a limit are not kept: another try may get further.

        Args:
            key: See `artifact_key`.
            compile_now: The compiler.
            lasting: Keep it on disk too: it costs more to make than to read.
        """
        found = self.peek(key)
        if found is not None:
            return found
        flying = self._flying.get(key)
        if flying is not None:
            try:
                return dataclasses.replace(await asyncio.shield(flying), cached=True)
            except asyncio.CancelledError:
                if not flying.cancelled():
                    raise  # we were cancelled, not the one who compiles
            except Exception:  # noqa: BLE001, S110 - its own caller reports it; we try ourselves
                pass
        future: asyncio.Future[CompileFacts] = asyncio.get_running_loop().create_future()
        self._flying[key] = future
        try:
            compiled = await self._read(key) if lasting else None
            if compiled is None:
                self.misses += 1
                compiled = await compile_now()
                if lasting:
                    self._write_behind(key, compiled)
            else:
                self.hits += 1
        except BaseException as e:
            if isinstance(e, asyncio.CancelledError):
                future.cancel()
            else:
                future.set_exception(e)
                future.exception()  # retrieved: nobody may be waiting
            raise
        else:
            future.set_result(compiled)
            self._keep(key, compiled)
            return compiled
        finally:
            if self._flying.get(key) is future:
                del self._flying[key]

    def put(self, key: str, compiled: CompileFacts, *, lasting: bool = False) -> None:
        """Keep what was compiled outside of `get`."""
        if lasting:
            self._write_behind(key, compiled)
        self._keep(key, compiled)

    # ------------------------------------------------------------ the disk

    def _on_disk(self, key: str) -> str:
        parts = (key, self.scope, __version__, platform.machine())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    async def _read(self, key: str) -> CompileFacts | None:
        disk = self._disk
        if disk is None:
            return None
        name = self._on_disk(key)

        def read() -> CompileFacts | None:
            data = disk.get(name)
            found = None if data is None else _decoded(data)
            if data is not None and found is None:
                disk.remove(name)
            return found

        return await asyncio.to_thread(read)

    def _write_behind(self, key: str, compiled: CompileFacts) -> None:
        disk = self._disk
        if disk is None or len(self._writes) >= MAX_WRITES or was_killed(compiled):
            return
        name = self._on_disk(key)

        async def write() -> None:
            await asyncio.to_thread(lambda: disk.put(name, *_encoded(compiled)))

        task = asyncio.create_task(write())
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    # ------------------------------------------------------------ memory

    def _keep(self, key: str, compiled: CompileFacts) -> None:
        size = len(compiled.artifact) + ENTRY_BYTES
        if size > self._budget or was_killed(compiled):
            return
        old = self._entries.pop(key, None)
        if old is not None:
            self._size -= len(old.artifact) + ENTRY_BYTES
        self._entries[key] = compiled
        self._size += size
        while self._size > self._budget:
            _, dropped = self._entries.popitem(last=False)
            self._size -= len(dropped.artifact) + ENTRY_BYTES


def was_killed(compiled: CompileFacts) -> bool:
    """Whether the compiler was stopped rather than done: another try may get further."""
    facts = compiled.facts
    stopped = facts.killer is not Killer.NONE or facts.oom_kills > 0 or facts.signal is not None
    return stopped and not compiled.ok


def _encoded(compiled: CompileFacts) -> tuple[bytes, ...]:
    """An entry on disk: plain data, so that reading one can do nothing but fail."""
    head = json.dumps(
        {
            "ok": compiled.ok,
            "message": compiled.message,
            "exit_code": compiled.facts.exit_code,
            **{name: getattr(compiled.facts, name) for name in _COUNTS},
        }
    ).encode()
    return _LENGTH.pack(len(head)), head, compiled.artifact


def _decoded(data: memoryview) -> CompileFacts | None:
    try:
        (length,) = _LENGTH.unpack_from(data)
        head = json.loads(bytes(data[_LENGTH.size : _LENGTH.size + length]))
        facts = RunFacts(exit_code=head["exit_code"], **{name: head[name] for name in _COUNTS})
        ok, message = head["ok"], head["message"]
    except (ValueError, LookupError, TypeError, struct.error):
        return None
    artifact = bytes(data[_LENGTH.size + length :])
    if type(ok) is not bool or not isinstance(message, str) or ok != bool(artifact):
        return None
    return CompileFacts(ok=ok, facts=facts, artifact=artifact, cached=True, message=message)
