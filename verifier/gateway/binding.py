"""Where the gRPC side listens: a TCP port, with TLS where it is set, or a unix socket.

A unix socket is made with its mode, never open for a moment. A socket file that a dead gateway left
is replaced; one on which somebody listens, and any other file, is left alone and is an error: gRPC
itself would delete the first and take the clients of the second.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
from pathlib import Path

import grpc.aio

from verifier.config import Settings, split_address
from verifier.errors import ConfigError
from verifier.gateway.tls import Tls

__all__ = ["bind", "forget", "server_options"]

# sockaddr_un.sun_path, with its NUL (unix(7)).
_MAX_PATH_BYTES = 107
_NO_BOUND = 2**31 - 1


def server_options(settings: Settings) -> tuple[tuple[str, int], ...]:
    """Of the gRPC server."""
    return (
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        # Answers are bounded by the excerpt budget and the number of cases.
        ("grpc.max_send_message_length", -1),
        # gRPC itself would cancel calls that come faster than they are taken in, at random from
        # 1,000 on, and a client cannot tell that from a fault: we refuse, and say when to return.
        ("grpc.server.max_pending_requests", _NO_BOUND),
        ("grpc.server.max_pending_requests_hard_limit", _NO_BOUND),
        # Nor those that were not taken in for 30 seconds: their own deadlines end them.
        ("grpc.server_max_unrequested_time_in_server", _NO_BOUND),
        # A taken port is an error, not a second server that gets every other connection.
        ("grpc.so_reuseport", 0),
        # Notice a client that vanished without a word, and let clients notice the same of us.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.max_ping_strikes", 0),
    )


def bind(server: grpc.aio.Server, settings: Settings, tls: Tls | None) -> str:
    """Listen; answers the address as a client names it.

    Raises:
        ConfigError: The address cannot be had; says why.
    """
    address = settings.grpc
    path = _socket_path(address)
    if path is not None:
        _bind_unix(server, address, path, int(settings.socket_mode, 8))
        return address
    try:
        if tls is None or address.startswith("unix"):
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, tls.grpc_credentials())
    except RuntimeError as exc:
        raise ConfigError(f"grpc: cannot listen on {address}: {_why(address, exc)}") from exc
    if address.startswith("unix"):
        return address
    host, _ = split_address(address)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def forget(address: str) -> None:
    """Take the file of a unix socket away, if nobody listens on it any more."""
    path = _socket_path(address)
    if path is not None:
        with contextlib.suppress(ConfigError):
            _clear(path)


def _socket_path(address: str) -> Path | None:
    # unix:PATH or unix:///PATH, as gRPC spells it.
    if not address.startswith("unix:"):
        return None
    return Path(address.removeprefix("unix:").removeprefix("//"))


def _bind_unix(server: grpc.aio.Server, address: str, path: Path, mode: int) -> None:
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        raise ConfigError(f"grpc: {path} is longer than the {_MAX_PATH_BYTES} bytes of a socket")
    _clear(path)
    before = os.umask(0o777 & ~mode)
    try:
        server.add_insecure_port(address)
    except RuntimeError as exc:
        why = "its folder does not exist" if not path.parent.is_dir() else str(exc)
        raise ConfigError(f"grpc: cannot listen on {address}: {why}") from exc
    finally:
        os.umask(before)


def _clear(path: Path) -> None:
    """Make room for a socket.

    Raises:
        ConfigError: Something else is there, or somebody listens.
    """
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise ConfigError(f"grpc: {path} exists and is not a socket; it is left as it is")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0)
        code = probe.connect_ex(os.fspath(path))
    if code == errno.ECONNREFUSED:
        path.unlink(missing_ok=True)
    elif code != errno.ENOENT:
        # Connected, a full backlog (EAGAIN), or not ours to reach (EACCES).
        raise ConfigError(
            f"grpc: {path} is in use by another process"
            if code in (0, errno.EAGAIN)
            else f"grpc: cannot look at {path}: {os.strerror(code)}"
        )


def _why(address: str, error: RuntimeError) -> str:
    """What gRPC does not say: why an address cannot be had."""
    with contextlib.suppress(ValueError):
        host, port = split_address(address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            with socket.create_server((host, port), family=family):
                pass
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                return f"port {port} is in use by another process; port 0 takes a free one"
            return exc.strerror or str(exc)
    return str(error)
