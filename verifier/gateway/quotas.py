"""What one client may hold at once, so that none of them takes the whole queue.

A client is a token's name where the gateway knows tokens, else the client id that the request
names (then the quota is a courtesy: whoever wants more names another id). What a token's line says
goes before the settings. Only who holds something is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass

from verifier.errors import OverloadedError

__all__ = ["Quota", "Quotas"]


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that one client holds at once; None: no bound of its own.

    Attributes:
        requests: Requests that wait or run.
        held_bytes: Their bytes.
    """

    requests: int | None = None
    held_bytes: int | None = None

    def over(self, default: Quota) -> Quota:
        """The same, with another's bounds where this one says nothing."""
        return Quota(
            default.requests if self.requests is None else self.requests,
            default.held_bytes if self.held_bytes is None else self.held_bytes,
        )


@dataclass(slots=True)
class _Held:
    requests: int = 0
    held_bytes: int = 0


class Quotas:
    """Counts what each client holds.

    Attributes:
        default: Of a client that has no quota of its own; may be replaced at any time.
    """

    def __init__(self, default: Quota, retry_after_s: float) -> None:
        """Nobody holds anything."""
        self.default = default
        self._retry_after_s = retry_after_s
        self._held: dict[str, _Held] = {}

    def __len__(self) -> int:
        """Clients that hold something."""
        return len(self._held)

    def held(self, client: str) -> tuple[int, int]:
        """Requests and bytes that a client holds."""
        held = self._held.get(client) or _Held()
        return held.requests, held.held_bytes

    def take(self, client: str, size: int, own: Quota | None = None) -> None:
        """Count one request of so many bytes. One alone is let in whatever its size.

        Raises:
            OverloadedError: The client has no room for it.
        """
        quota = self.default if own is None else own.over(self.default)
        held = self._held.get(client)
        if held is not None and held.requests:
            if quota.requests is not None and held.requests >= quota.requests:
                raise self._full(client, f"{held.requests} of {quota.requests} requests")
            self._check_bytes(client, held, size, quota)
        if held is None:
            held = self._held[client] = _Held()
        held.requests += 1
        held.held_bytes += size

    def grow(self, client: str, size: int, own: Quota | None = None) -> None:
        """Count more bytes of a request that was let in.

        Raises:
            OverloadedError: The client has no room for them.
        """
        held = self._held[client]
        self._check_bytes(
            client, held, size, self.default if own is None else own.over(self.default)
        )
        held.held_bytes += size

    def shrink(self, client: str, size: int) -> None:
        """Count so many bytes no more; the request goes on."""
        self._held[client].held_bytes -= size

    def give_back(self, client: str, size: int) -> None:
        """Count a request no more, and what is left of its bytes."""
        held = self._held[client]
        held.requests -= 1
        held.held_bytes -= size
        if not held.requests:
            del self._held[client]

    def _check_bytes(self, client: str, held: _Held, size: int, quota: Quota) -> None:
        if quota.held_bytes is not None and held.held_bytes + size > quota.held_bytes:
            used = f"{held.held_bytes} of {quota.held_bytes} bytes, and {size} more were sent"
            raise self._full(client, used)

    def _full(self, client: str, used: str) -> OverloadedError:
        who = f"client {client[:80]!r}" if client else "the client without an id"
        return OverloadedError(
            f"the quota of {who} is used up: it holds {used}", self._retry_after_s
        )
