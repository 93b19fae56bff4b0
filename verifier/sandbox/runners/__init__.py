"""Runners that somebody else started, behind sockets in a shared folder, as slots."""

from verifier.sandbox.runners.backend import RunnerSandbox

__all__ = ["RunnerSandbox"]
