"""The base class of gRPC interceptors, with and without types published for grpc."""

from __future__ import annotations

from typing import Any

import grpc.aio

__all__ = ["Interceptor"]

Interceptor: Any = grpc.aio.ServerInterceptor
