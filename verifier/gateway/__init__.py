"""The gRPC server over an engine: `Gateway` to embed it, `serve` to run it until a signal."""

from __future__ import annotations

from verifier.gateway.lifecycle import Bound, Gateway, serve

__all__ = ["Bound", "Gateway", "serve"]
