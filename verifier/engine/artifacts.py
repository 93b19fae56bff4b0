"""Compiled programs, kept in memory by content, with a byte budget.

Equal ones in flight are compiled once.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping

from verifier.languages import Recipe
from verifier.types import CompileFacts, Killer, Program

BUDGET_BYTES = 256 * 1024 * 1024
# What an entry costs beside its artifact: diagnostics, facts, keys.
ENTRY_BYTES = 2048


def artifact_key(
    program: Program, recipe: Recipe, toolchain: str, files: Mapping[str, bytes] | None = None
) -> str:
    """Content, flags and toolchain: whatever could make another artifact makes another key."""
    digest = hashlib.sha256()
    for part in (
        program.language,
        toolchain,
        *recipe.compile_argv,
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
    """LRU by bytes. Belongs to one event loop."""

    def __init__(self, budget_bytes: int = BUDGET_BYTES) -> None:
        """An artifact bigger than the budget is used and not kept."""
        self._budget = budget_bytes
        self._entries: OrderedDict[str, CompileFacts] = OrderedDict()
        self._size = 0
        self._flying: dict[str, asyncio.Future[CompileFacts]] = {}
        self.hits = 0
        self.misses = 0

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
        self, key: str, compile_now: Callable[[], Awaitable[CompileFacts]]
    ) -> CompileFacts:
        """The artifact of `key`; compiles at most once at a time.

        A failed compile is kept like any other.

        Compilers that were killed by a limit are not kept: another try may get further.
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
        self.misses += 1
        future: asyncio.Future[CompileFacts] = asyncio.get_running_loop().create_future()
        self._flying[key] = future
        try:
            compiled = await compile_now()
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

    def _keep(self, key: str, compiled: CompileFacts) -> None:
        size = len(compiled.artifact) + ENTRY_BYTES
        if size > self._budget or (not compiled.ok and _was_killed(compiled)):
            return
        old = self._entries.pop(key, None)
        if old is not None:
            self._size -= len(old.artifact) + ENTRY_BYTES
        self._entries[key] = compiled
        self._size += size
        while self._size > self._budget:
            _, dropped = self._entries.popitem(last=False)
            self._size -= len(dropped.artifact) + ENTRY_BYTES


def _was_killed(compiled: CompileFacts) -> bool:
    """Whether the compiler was stopped rather than done: another try may get further."""
    facts = compiled.facts
    return facts.killer is not Killer.NONE or facts.oom_kills > 0 or facts.signal is not None
