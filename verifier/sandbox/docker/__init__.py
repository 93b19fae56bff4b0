"""Containers as slots, through the docker SDK (imported only when the backend is used)."""

from verifier.sandbox.docker.backend import DockerSandbox

__all__ = ["DockerSandbox"]
