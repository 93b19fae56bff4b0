"""What an address says: host and port, and who can reach it."""

from __future__ import annotations

import ipaddress

__all__ = ["is_loopback", "split_address"]


def split_address(address: str) -> tuple[str, int]:
    """Host and port of "HOST:PORT" or "[V6]:PORT".

    Raises:
        ValueError: It is neither.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError("must be HOST:PORT")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError("an IPv6 host needs brackets: [::1]:PORT")
    return host.strip("[]"), int(port)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address.

    Raises:
        ValueError: It is not an address.
    """
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host, _ = split_address(address)
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
