"""What is done with samples that the machinery could not score; shared by all managers."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from verifier.errors import ConfigError, InfraError
from verifier.scoring.record import ScoreRecord
from verifier.scoring.unavailable import OnUnavailable

_log = logging.getLogger("verifier.rewards")


def choose_policy(scorer: object, given: str | OnUnavailable | None) -> OnUnavailable:
    """The policy that was set, else the scorer's own, else "fallback".

    Raises:
        ConfigError: It is none of the three, or the scorer was made with another.
    """
    own = getattr(scorer, "on_unavailable", None)
    if given is None:
        return OnUnavailable.parse(own) if own is not None else OnUnavailable.FALLBACK
    policy = OnUnavailable.parse(given)
    if own is not None and OnUnavailable.parse(own) is not policy:
        raise ConfigError(
            f"on_unavailable={policy.value!r}, but the scorer was made with "
            f"{OnUnavailable.parse(own).value!r}; set it in one place"
        )
    return policy


def refuse_mask(policy: OnUnavailable) -> None:
    """Refuse what a batch of verl's cannot hold.

    Raises:
        ConfigError: The policy is "mask".
    """
    if policy is OnUnavailable.MASK:
        raise ConfigError(
            "on_unavailable='mask' cannot be used inside verl: its batches have no place "
            "for a sample without a score, and 0.0 would be learned from; "
            "use 'fallback' or 'raise'"
        )


def is_verls(data: object) -> bool:
    """Whether a batch is verl's (verl itself is never imported here)."""
    return type(data).__module__.partition(".")[0] == "verl"


def check_timeout(seconds: float | None) -> float | None:
    """Seconds for one call of a scorer.

    Raises:
        ConfigError: It is not positive.
    """
    if seconds is not None and not seconds > 0:
        raise ConfigError(f"compute_score_timeout={seconds} must be positive, or None")
    return seconds


def settle(records: Sequence[ScoreRecord], policy: OnUnavailable) -> None:
    """Log what has broken data, and apply the policy to what the machinery could not score.

    Raises:
        InfraError: There is some, and the policy is not "mask".
    """
    broken = [(i, r) for i, r in enumerate(records) if not r.valid and not r.infra_error]
    if broken:
        _log.warning(
            "%d of %d samples have broken data and no score; the first: sample %d: %s",
            len(broken),
            len(records),
            broken[0][0],
            broken[0][1].error,
        )
    faults = [(i, r) for i, r in enumerate(records) if r.infra_error]
    if not faults:
        return
    which, first = faults[0]
    message = (
        f"{len(faults)} of {len(records)} samples could not be scored (on_unavailable="
        f"{policy.value}); the first: sample {which}: {first.error}"
    )
    if policy is not OnUnavailable.MASK:
        raise InfraError(message)
    _log.warning("%s", message)
