"""The embedded sandbox: Linux namespaces and cgroups, no Docker."""

from verifier.sandbox.namespaces.backend import NamespaceSandbox

__all__ = ["NamespaceSandbox"]
