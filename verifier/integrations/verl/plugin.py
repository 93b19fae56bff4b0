"""What `import verl` loads through the entry point `verl.plugins` (verl 0.9.0 and later).

It registers our managers under names of our own, and puts `routed` in the place of verl's default
scorer: for `reward.sandbox_fusion.url=verifier://HOST:PORT` code goes to the gateway, whole suite
in one message, awaited; for any other URL, and for none, verl's own function is called as before.

verl logs a plugin that fails at DEBUG only. A verifier:// URL that nobody serves would then be an
error in each case, which verl turns into a reward of 0. So what cannot be done is said aloud here.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from verifier.integrations.verl.scorer import (
    ROUTED,
    SCHEME,
    as_columns,
    score_code,
    score_code_sync,
    score_other,
    settings_of,
)
from verifier.scoring.routing import CODE_SOURCES
from verifier.scoring.sample import Sample

_log = logging.getLogger("verifier.integrations.verl")

TESTED = "0.9."
SYNC_ONLY = ("remote",)
"""Managers of verl's that assert a synchronous function."""


def routed(verls: Callable[..., Any], *, synchronous: bool) -> Callable[..., Any]:
    """A function in the place of verl's default scorer.

    Args:
        verls: verl's default scorer.
        synchronous: For a manager that takes no coroutine function.
    """

    def split(
        data_source: str, sandbox_fusion_url: str | None, memory_limit_mb: float | None
    ) -> tuple[bool, dict[str, Any] | None]:
        """Whether the URL is ours; the code scorer's settings where the source is, too."""
        if not str(sandbox_fusion_url or "").startswith(SCHEME):
            return False, None
        if data_source not in CODE_SOURCES:
            return True, None
        return True, settings_of(
            sandbox_fusion_url=sandbox_fusion_url, memory_limit_mb=memory_limit_mb
        )

    def elsewhere(
        mine: bool,
        sample_fields: tuple[Any, ...],
        verls_own: tuple[Any, ...],
        others: Mapping[str, Any],
    ) -> Any:
        """What is no program for our gateway: by the other scorers, or all as verl does it."""
        if mine:
            answer = score_other(*sample_fields, ours_first=False, **others)
            return as_columns(answer, sample_fields[0])
        return verls(*sample_fields, *verls_own, **others)

    @functools.wraps(verls)
    async def compute_score(
        data_source: str,
        solution_str: str,
        ground_truth: object,
        extra_info: Mapping[str, Any] | None = None,
        sandbox_fusion_url: str | None = None,
        concurrent_semaphore: Any = None,
        memory_limit_mb: float | None = None,
        **kwargs: Any,
    ) -> Any:
        mine, settings = split(data_source, sandbox_fusion_url, memory_limit_mb)
        if settings is not None:
            sample = Sample(data_source, solution_str, ground_truth, extra_info or {})
            return await score_code(sample, settings)
        sample_fields = (data_source, solution_str, ground_truth, extra_info)
        verls_own = (sandbox_fusion_url, concurrent_semaphore, memory_limit_mb)
        # As verl's managers call a synchronous function.
        work = functools.partial(elsewhere, mine, sample_fields, verls_own, kwargs)
        return await asyncio.get_running_loop().run_in_executor(None, work)

    @functools.wraps(verls)
    def compute_score_sync(
        data_source: str,
        solution_str: str,
        ground_truth: object,
        extra_info: Mapping[str, Any] | None = None,
        sandbox_fusion_url: str | None = None,
        concurrent_semaphore: Any = None,
        memory_limit_mb: float | None = None,
        **kwargs: Any,
    ) -> Any:
        mine, settings = split(data_source, sandbox_fusion_url, memory_limit_mb)
        if settings is not None:
            sample = Sample(data_source, solution_str, ground_truth, extra_info or {})
            return score_code_sync(sample, settings)
        sample_fields = (data_source, solution_str, ground_truth, extra_info)
        verls_own = (sandbox_fusion_url, concurrent_semaphore, memory_limit_mb)
        return elsewhere(mine, sample_fields, verls_own, kwargs)

    chosen: Callable[..., Any] = compute_score_sync if synchronous else compute_score
    setattr(chosen, ROUTED, True)
    return chosen


def install() -> list[str]:
    """Do what this plugin does; what could not be done, one line for each. Twice is once."""
    problems: list[str] = []
    for step in (_replace_default, _register_loop, _register_legacy):
        try:
            step()
        except Exception as error:  # noqa: BLE001, PERF203 - said aloud below; verl would hide it
            problems.append(f"{step.__name__.strip('_')}: {type(error).__name__}: {error}")
    version = str(getattr(sys.modules.get("verl"), "__version__", "unknown"))
    if problems:
        _log.warning(
            "sandbox-verifier cannot do all that it does in verl %s (made for %sx): %s. A "
            "reward.sandbox_fusion.url=verifier://... may not work; use "
            "reward.custom_reward_function.path=pkg://verifier.integrations.verl.reward_fn",
            version,
            TESTED,
            "; ".join(problems),
        )
    elif not version.startswith(TESTED):
        _log.warning(
            "sandbox-verifier is tested with verl %sx, not %s: look at the first rewards",
            TESTED,
            version,
        )
    return problems


def _replace_default() -> None:
    table: Any = importlib.import_module("verl.utils.reward_score")
    theirs = table.get_default_compute_score
    if hasattr(theirs, ROUTED):
        return
    taken = list(inspect.signature(table.default_compute_score).parameters)
    wanted = ["sandbox_fusion_url", "concurrent_semaphore", "memory_limit_mb"]
    if taken[4:7] != wanted:
        raise TypeError(f"default_compute_score takes {taken}")

    @functools.wraps(theirs)
    def get_default_compute_score(reward_name: str | None) -> Callable[..., Any]:
        return routed(theirs(reward_name), synchronous=reward_name in SYNC_ONLY)

    setattr(get_default_compute_score, ROUTED, True)
    table.get_default_compute_score = get_default_compute_score
    # Who imported it by name before us.
    loaded: Any = sys.modules.get("verl.trainer.ppo.reward")
    if loaded is not None and hasattr(loaded, "get_default_compute_score"):
        loaded.get_default_compute_score = get_default_compute_score


def _register_loop() -> None:
    from verifier.integrations.verl.managers import LOOP

    registry: Any = importlib.import_module("verl.experimental.reward_loop.reward_manager.registry")
    for name, cls in LOOP.items():
        registry.register(name)(cls)


def _register_legacy() -> None:
    from verifier.integrations.verl.managers import LEGACY

    registry: Any = importlib.import_module("verl.workers.reward_manager.registry")
    for name, cls in LEGACY.items():
        registry.register(name)(cls)


install()
