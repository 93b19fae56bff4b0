"""Where the gateways are: one address, a list of them, or a name that has several.

    "h:1"  "verifier://h:1"  "unix:/run/v.sock"     one gateway
    "h:1,h:2"  ("h:1", "h:2")                       a list
    "dns:///gateways:1"  "gateways:1"               as many as the name has addresses

A name with at most one address of each family (as localhost) is one gateway: gRPC dials it by its
name, and tries both families. Loads no grpc.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from verifier.errors import ConfigError

__all__ = ["Address", "Lookup", "lookup", "parse_targets", "resolve"]

_OURS = ("verifier", "grpc")
_SOCKETS = ("unix:", "unix-abstract:", "vsock:")


@dataclass(frozen=True, slots=True)
class Address:
    """One gateway.

    Attributes:
        target: What gRPC dials.
        authority: The name it is known by, where the target is one of that name's addresses: a
            certificate and a proxy know the name.
    """

    target: str
    authority: str = ""


Lookup: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Addresses, as text, of a host and port. Raises OSError."""


def parse_targets(server: str | Iterable[str]) -> tuple[str, ...]:
    """The gateways that a setting names, each once, in order.

    Raises:
        ConfigError: There is none, or one of them is not an address of a gateway.
    """
    texts = [server] if isinstance(server, str) else list(server)
    found: dict[str, None] = {}
    for text in texts:
        if not isinstance(text, str):
            raise ConfigError(f"server={server!r}: {text!r} is not HOST:PORT")
        for part in text.split(","):
            if part.strip():
                found[_target(part.strip(), server)] = None
    if not found:
        raise ConfigError(f"server={server!r} names no gateway; give HOST:PORT")
    return tuple(found)


def _target(text: str, server: object) -> str:
    scheme, separator, rest = text.partition("://")
    if separator and scheme in ("http", "https"):
        raise ConfigError(
            f"server={server!r} is an HTTP address; give the gateway's gRPC address, "
            "as in server=verifier://HOST:PORT"
        )
    if separator and scheme in _OURS:
        text = rest
    text = text.rstrip("/")
    if not text:
        raise ConfigError(f"server={server!r} names no gateway; give HOST:PORT")
    return text


def host_and_port(target: str) -> tuple[str, int] | None:
    """Of a name that has to be looked up; None for an address, a socket, or a scheme of gRPC's."""
    name = target
    if name.startswith("dns:"):
        # dns:[//authority/]host:port, as gRPC writes it. Another authority is gRPC's business.
        name = name.removeprefix("dns:")
        if name.startswith("///"):
            name = name.removeprefix("///")
        elif name.startswith("//"):
            return None
    elif name.startswith(_SOCKETS) or "://" in name:
        return None
    host, colon, port = name.rpartition(":")
    if not colon or not port.isdigit() or ":" in host:
        return None
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host, int(port)
    return None


async def lookup(host: str, port: int) -> list[str]:
    """What the system's resolver says; it runs in a thread.

    Raises:
        OSError: The name is not known, or is none.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (UnicodeError, OverflowError) as exc:
        raise OSError(f"{host}:{port} cannot be looked up: {exc}") from exc
    return [str(entry[4][0]) for entry in found]


async def resolve(targets: Iterable[str], find: Lookup = lookup) -> tuple[Address, ...]:
    """The gateways behind the targets, each once.

    Raises:
        OSError: A name could not be looked up, and none of the targets could.
    """
    found: dict[Address, None] = {}
    failed: OSError | None = None
    for target in targets:
        name = host_and_port(target)
        if name is None:
            found[Address(target)] = None
            continue
        try:
            addresses = await find(*name)
        except OSError as exc:
            failed = exc
            continue
        for address in _several(target, name, addresses):
            found[address] = None
    if not found and failed is not None:
        raise failed
    return tuple(found)


def _several(target: str, name: tuple[str, int], addresses: Iterable[str]) -> list[Address]:
    host, port = name
    families: dict[int, dict[str, None]] = {4: {}, 6: {}}
    for address in addresses:
        # A link-local address carries its interface: fe80::1%eth0.
        families[ipaddress.ip_address(address.partition("%")[0]).version][address] = None
    # The same gateways have addresses of both families: the one that has more names more of them.
    version = 4 if len(families[4]) >= len(families[6]) else 6
    chosen = list(families[version])
    if len(chosen) < 2:
        return [Address(target)]
    form = "ipv4:{}:{}" if version == 4 else "ipv6:[{}]:{}"
    return [Address(form.format(address, port), f"{host}:{port}") for address in sorted(chosen)]
