"""A custom reward function for verl: one line of configuration, no plugin.

    reward.custom_reward_function.path=pkg://verifier.integrations.verl.reward_fn
    +reward.custom_reward_function.reward_kwargs.server=verifier://HOST:PORT

verl ignores `reward.sandbox_fusion.*` for custom functions, so the address comes by
`reward_kwargs`. `name=compute_score_sync` is the twin for the manager `remote`, which asserts a
synchronous function.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping
from typing import Any

from verifier.integrations.verl.scorer import (
    as_columns,
    score_code,
    score_code_sync,
    score_other,
    settings_of,
)
from verifier.scoring.routing import CODE_SOURCES
from verifier.scoring.sample import Sample

__all__ = ["compute_score", "compute_score_sync", "reward_fn", "reward_fn_sync"]


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **settings: Any,
) -> dict[str, Any]:
    """Score one sample; a whole suite goes in one message.

    Args:
        data_source: Chooses the scorer: code goes to the gateway, other sources to the table of
            `verifier.scoring`, then to verl's.
        solution_str: The response.
        ground_truth: As the data set has it.
        extra_info: The row's other facts; its key "verifier" may hold `CallOptions`.
        reward_router_address: Not used: there is no reward model here.
        reward_model_tokenizer: The same.
        **settings: `server` ("verifier://HOST:PORT"; without it, the engine on this host),
            `on_unavailable` ("fallback" or "raise"), `memory_limit_mb`, `accept`, `backend`,
            `slots`, `client_id`, `max_time_limit_hits` (default 2, 0: never), `total_cpu_time_s`.

    Returns:
        Exactly `verifier.scoring.EXTRA_KEYS`, whatever the source.

    Raises:
        InfraError: It could not be scored.
        ConfigError: A setting is wrong.
        RequestError: Nobody knows the source.
    """
    del reward_router_address, reward_model_tokenizer
    checked = settings_of(**settings)
    if data_source in CODE_SOURCES:
        return await score_code(
            _sample(data_source, solution_str, ground_truth, extra_info), checked
        )
    work = functools.partial(
        score_other, data_source, solution_str, ground_truth, extra_info, ours_first=True
    )
    answer = await asyncio.get_running_loop().run_in_executor(None, work)
    return as_columns(answer, data_source)


def compute_score_sync(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **settings: Any,
) -> dict[str, Any]:
    """`compute_score` without an event loop, for the manager `remote`."""
    del reward_router_address, reward_model_tokenizer
    checked = settings_of(**settings)
    if data_source in CODE_SOURCES:
        sample = _sample(data_source, solution_str, ground_truth, extra_info)
        return score_code_sync(sample, checked)
    answer = score_other(data_source, solution_str, ground_truth, extra_info, ours_first=True)
    return as_columns(answer, data_source)


reward_fn = compute_score
reward_fn_sync = compute_score_sync


def _sample(
    data_source: str, solution_str: str, truth: object, extra_info: Mapping[str, Any] | None
) -> Sample:
    return Sample(data_source, solution_str, truth, extra_info or {})
