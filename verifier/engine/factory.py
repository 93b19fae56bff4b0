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
    spawn_python: bool = False,
) -> Sandbox:
    """A sandbox, not started yet.

    Args:
        backend: One of `BACKENDS`.
        accept: Guarantees that may be missing, by name.
        allow_unsafe: Needed for "process", which isolates nothing.
        image: For "docker".
        spawn_python: Run Python programs in a fresh interpreter each instead of a fork of the warm
        one.

    Raises:
        ConfigError: No such backend, no such guarantee, or an unsafe one without `allow_unsafe`.
    """
    if backend == "namespaces":
        from verifier.sandbox.namespaces import NamespaceSandbox

        return NamespaceSandbox(accept=accept, spawn_python=spawn_python)
    if backend == "docker":
        from verifier.sandbox.docker import DockerSandbox

        return DockerSandbox(image=image, accept=accept, spawn_python=spawn_python)
    if backend == "process":
        from verifier.sandbox.process import ProcessSandbox

        return ProcessSandbox(allow_unsafe=allow_unsafe)
    if backend == "fake":
        from verifier.sandbox.fake import FakeSandbox

        return FakeSandbox()
    near = difflib.get_close_matches(backend, BACKENDS, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"backend: there is no {backend!r}{hint} There are: {', '.join(BACKENDS)}")
