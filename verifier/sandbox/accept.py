"""Guarantees that are missing: an error, unless the operator named them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from verifier.errors import ConfigError, GuaranteeError
from verifier.sandbox.base import Guarantee, GuaranteeName

# Said, but never required: the payload's PID and mount namespaces and its lack of capabilities keep
# the runner out of its reach also where both have one user id (an ordinary user without a subuid
# range; a container).
HARDENING = frozenset({GuaranteeName.SEPARATE_UID})


def check_accepted(names: Collection[str]) -> frozenset[str]:
    """The names, checked.

    Raises:
        ConfigError: One of them is no guarantee.
    """
    known = {g.value for g in GuaranteeName}
    for name in names:
        if name not in known:
            raise ConfigError(
                f"accept: there is no guarantee {name!r}; there are {', '.join(sorted(known))}"
            )
    return frozenset(names)


def require(guarantees: Iterable[Guarantee], accepted: Collection[str]) -> None:
    """Refuse a host that lacks a guarantee which was not accepted.

    Raises:
        GuaranteeError: It names each one with its remedy.
    """
    missing = [
        g
        for g in guarantees
        if not g.holds and g.name not in HARDENING and g.name.value not in accepted
    ]
    if not missing:
        return
    lines = [
        f"{g.name.value}: {g.mechanism}. To have it: {g.remedy or 'see docs/architecture.md'}"
        for g in missing
    ]
    names = tuple(g.name.value for g in missing)
    flags = " ".join(f"--accept {n}" for n in names)
    raise GuaranteeError(
        "this host cannot give: " + "; ".join(lines) + f". To run without: {flags}", names
    )
