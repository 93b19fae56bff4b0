"""New settings for a gateway that runs: all of them that can be taken over, or none.

What may go wrong is done before anything is changed. Settings that a running gateway cannot take
over (where it listens, its sandbox, its caches) stay, and are named. Certificates and tokens need
no signal: their files are looked at with each connection and each call.
"""

from __future__ import annotations

from dataclasses import dataclass

from verifier._addresses import is_loopback
from verifier.config import Settings, reloads
from verifier.errors import ConfigError

__all__ = ["Change", "Plan", "plan"]


@dataclass(frozen=True, slots=True)
class Change:
    """One setting that is another now."""

    name: str
    before: object
    after: object

    def __str__(self) -> str:
        return f"{self.name}: {_text(self.before)} -> {_text(self.after)}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a reload does.

    Attributes:
        settings: Those that the gateway has afterwards.
        applied: What changes.
        restart: What would change with a restart, and does not.
    """

    settings: Settings
    applied: tuple[Change, ...]
    restart: tuple[Change, ...]

    def __str__(self) -> str:
        if not self.applied and not self.restart:
            return "settings read again: nothing changed"
        parts = []
        if self.applied:
            parts.append(", ".join(map(str, self.applied)))
        if self.restart:
            parts.append("not before a restart: " + ", ".join(map(str, self.restart)))
        return "settings read again: " + "; ".join(parts)


def plan(present: Settings, wanted: Settings) -> Plan:
    """Which of the wanted settings a gateway with the present ones takes over.

    Raises:
        ConfigError: What would be left is not safe: the address stays until a restart, and may have
            needed what is to go.
    """
    applied: list[Change] = []
    restart: list[Change] = []
    for name in Settings.model_fields:
        before, after = getattr(present, name), getattr(wanted, name)
        if before != after:
            (applied if reloads(name) else restart).append(Change(name, before, after))
    settings = present.model_copy(update={change.name: change.after for change in applied})
    here = all(is_loopback(at) for at in (present.grpc, present.http) if at is not None)
    if present.tokens is not None and settings.tokens is None and not here:
        raise ConfigError(
            f"tokens: other machines reach {present.grpc} until a restart, so tokens are asked for "
            f"until then; restart to go without"
        )
    return Plan(settings, tuple(applied), tuple(restart))


def _text(value: object) -> str:
    return "unset" if value is None else str(value)
