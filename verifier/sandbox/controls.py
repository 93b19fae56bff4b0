"""Control runs: a slot with one mechanism switched off, in which an attack is seen to succeed.

An attack that is refused proves nothing by itself: the module may not have been there, or another
wall may have stood in the way. The same attack in a slot without the one mechanism it is aimed at
has to get through. Such a slot is for tests alone: it is asked for by a private argument of the
sandbox's constructor, which no setting and no request reaches, and refused unless the environment
says VERIFIER_CONTROL_RUNS=1.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from verifier.errors import ConfigError
from verifier.runner.agent.libjail import WITHOUT

SWITCH = "VERIFIER_CONTROL_RUNS"
# Of the slot, and of its cgroup; the others are of each run.
SLOT_WIDE = (
    "no_network",
    "read_only_root",
    "separate_uid",
    "unprivileged_uid",
    "memory_limit",
    "cpu_accounting",
)
MECHANISMS = frozenset({*WITHOUT, *SLOT_WIDE})


def check(names: Collection[str]) -> frozenset[str]:
    """The mechanisms that are switched off; as a rule none.

    Raises:
        ConfigError: There is no such mechanism, or this process may not switch any off.
    """
    wanted = frozenset(names)
    if not wanted:
        return wanted
    if os.environ.get(SWITCH) != "1":
        raise ConfigError(f"a sandbox without {', '.join(sorted(wanted))}: only for control runs")
    if unknown := wanted - MECHANISMS:
        raise ConfigError(f"there is no mechanism {', '.join(sorted(unknown))}")
    return wanted


def apply(config: dict[str, Any], without: frozenset[str]) -> None:
    """Switch off what the runner is told of; the memory limit and the pids are the caller's."""
    config["without"] = sorted(without)
    if "cpu_accounting" in without:
        config["counters"].pop("cpu", None)
    if "unprivileged_uid" in without and config["ids"]:
        config["ids"] = {"how": "direct", "runner": config["ids"]["runner"], "payload": 0}
