"""What a comparison answers."""

from __future__ import annotations

from dataclasses import dataclass

from verifier._text import excerpt

_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class Match:
    """Whether an output is right; where it is not, what differs first, in one line for a person."""

    ok: bool
    message: str = ""


RIGHT = Match(ok=True)


def wrong(where: str, expected: str | bytes | None, got: str | bytes | None) -> Match:
    """Something differs at `where`. None stands for the end of that side."""
    return Match(ok=False, message=f"{where}: expected {_shown(expected)}, got {_shown(got)}")


def _shown(data: str | bytes | None) -> str:
    return "the end" if data is None else f"'{excerpt(data, _SHOWN_CHARS)}'"
