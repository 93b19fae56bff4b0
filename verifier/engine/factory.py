"""Backends by name. Each is imported only when it is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from verifier.errors import ConfigError
from verifier.sandbox.base import Sandbox

BACKENDS = ("namespaces", "docker", "process", "fake")


def make_sandbox(
    backend: str,
    *,
    accept: Collection[str] = (),
    allow_unsafe: bool = False,
    image: str | None = None,
    runtime: str | None = None,
    spawn_python: bool = False,
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

        return NamespaceSandbox(accept=accept, spawn_python=spawn_python)
    if backend == "docker":
        from verifier.sandbox.docker import DockerSandbox

        return DockerSandbox(image=image, runtime=runtime, accept=accept, spawn_python=spawn_python)
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

        return FakeSandbox()
    near = difflib.get_close_matches(backend, BACKENDS, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"backend: there is no {backend!r}{hint} There are: {', '.join(BACKENDS)}")
