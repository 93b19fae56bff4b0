"""Backends by name, each imported only when it is asked for, and engines by settings."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from verifier._disk_cache import DiskCache
from verifier.engine.artifacts import ArtifactCache
from verifier.engine.engine import Engine
from verifier.errors import ConfigError
from verifier.sandbox.base import ElasticSandbox, Sandbox

if TYPE_CHECKING:
    from verifier.config import Settings

BACKENDS = ("namespaces", "docker", "runners", "process", "fake")


def engine_of(settings: Settings, sandbox: Sandbox) -> Engine:
    """The engine that an operator's settings describe, not started yet.

    Raises:
        ConfigError: The testlib.h cannot be read.
    """
    from verifier.config import read_testlib  # pydantic, which a library's user may not have

    disk = None
    if settings.cache_dir:
        folder = Path(settings.cache_dir).expanduser().resolve() / "programs"
        disk = DiskCache(folder, settings.compile_cache_disk_bytes)
    slots = settings.slots or len(os.sched_getaffinity(0))
    compile_slots = slots if settings.compile_slots is None else settings.compile_slots
    elastic = isinstance(sandbox, ElasticSandbox)
    return Engine(
        sandbox,
        slots=settings.slots if elastic else slots,
        pin_slots=settings.pin_slots,
        default_limits=settings.default_limits.to_limits(),
        max_limits=settings.max_limits.to_limits(),
        max_queue=settings.max_queue,
        accept=frozenset(settings.accept),
        testlib=read_testlib(settings.testlib),
        # As many slots as there are: none beside them.
        compile_slots=0 if elastic else compile_slots,
        artifacts=ArtifactCache(settings.compile_cache_bytes, disk),
        result_cache_bytes=settings.result_cache_bytes,
    )


def make_sandbox(
    backend: str,
    *,
    accept: Collection[str] = (),
    allow_unsafe: bool = False,
    image: str | None = None,
    runtime: str | None = None,
    spawn_python: bool = False,
    cache_dir: str | None = None,
    runners_dir: str | None = None,
) -> Sandbox:
    """A sandbox, not started yet.

    Args:
        backend: One of `BACKENDS`.
        accept: Guarantees that may be missing, by name.
        allow_unsafe: Needed for "process", which isolates nothing, and "fake", which runs nothing.
        image: For "docker".
        runtime: For "docker": the OCI runtime of its containers; the engine's default if None.
        spawn_python: Run Python programs in a fresh interpreter each instead of a fork of the warm
        one.
        cache_dir: For "namespaces": where precompiled headers are kept; none are made without.
        runners_dir: For "runners": the folder of their sockets.

    Raises:
        ConfigError: No such backend, no such guarantee, an unsafe one without `allow_unsafe`, or a
            runtime for a backend that has none.
    """
    if runtime is not None and backend != "docker":
        raise ConfigError(
            f"runtime: {runtime!r} is for the docker backend, and this is {backend!r}; "
            f"leave it out, or use --backend docker"
        )
    if backend == "namespaces":
        from verifier.sandbox.namespaces import NamespaceSandbox

        return NamespaceSandbox(accept=accept, spawn_python=spawn_python, cache_dir=cache_dir)
    if backend == "docker":
        from verifier.sandbox.docker import DockerSandbox

        return DockerSandbox(image=image, runtime=runtime, accept=accept, spawn_python=spawn_python)
    if backend == "runners":
        from verifier.sandbox.runners import RunnerSandbox

        return RunnerSandbox(runners_dir, accept=accept, spawn_python=spawn_python)
    if backend == "process":
        from verifier.sandbox.process import ProcessSandbox

        return ProcessSandbox(allow_unsafe=allow_unsafe)
    if backend == "fake":
        if not allow_unsafe:
            raise ConfigError(
                "backend: 'fake' runs nothing and makes its answers up, for tests of clients; "
                "it needs allow_unsafe (--allow-unsafe)"
            )
        from verifier.sandbox.fake import FakeSandbox

        return FakeSandbox(recording=False)
    near = difflib.get_close_matches(backend, BACKENDS, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"backend: there is no {backend!r}{hint} There are: {', '.join(BACKENDS)}")
