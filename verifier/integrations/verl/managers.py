"""Our managers with verl's constructor, for `reward.reward_manager.source=importlib`.

    reward.reward_manager.source=importlib
    reward.reward_manager.name=NaiveRewardManager
    reward.reward_manager.module.path=pkg://verifier.integrations.verl.managers
    +reward.reward_kwargs.server=verifier://HOST:PORT      or reward.sandbox_fusion.url

Where verl hands over its default scorer, code is scored by ours: through the gateway that `server`
or a verifier:// URL names, else by the engine on this host (held to the same guarantees). A custom
function is called as it is. An http:// URL is somebody's Sandbox Fusion: verl's scorer goes there.
"""

from __future__ import annotations

from typing import Any

from verifier._loading import FunctionFrom
from verifier.errors import ConfigError
from verifier.integrations.verl.scorer import (
    SCHEME,
    VerlScorer,
    bound_url,
    is_verls_default,
    settings_of,
)
from verifier.rewards import batched, prime, rate_limited
from verifier.rewards import dapo as legacy_dapo
from verifier.rewards import naive as legacy_naive
from verifier.rewards.base import AbstractRewardManager
from verifier.rewards.loop import dapo, gdpo, naive, remote
from verifier.rewards.loop import rate_limited as loop_rate_limited
from verifier.rewards.settings import read_reward_config
from verifier.scoring.sandbox import parse_server
from verifier.scoring.training import stop_settings


def choose_scorer(config: Any, given: Any, *, travels: bool = False) -> Any:
    """The scorer of a manager inside verl.

    Args:
        config: verl's configuration.
        given: What verl hands over.
        travels: It has to reach a worker process.

    Raises:
        ConfigError: A setting is wrong.
    """
    if given is not None and not is_verls_default(given):
        return given
    read = read_reward_config(config)
    kwargs = read.reward_kwargs
    url = bound_url(given) or read.sandbox_url
    server = parse_server(kwargs.get("server"))
    if url and not url.startswith(SCHEME):
        if server:
            raise ConfigError(
                f"reward_kwargs.server={server!r} and sandbox_fusion.url={url!r}: one"
            )
        return given
    settings: dict[str, Any] = {
        "server": server,
        "sandbox_fusion_url": url,
        "memory_limit_mb": read.memory_limit_mb,
        "on_unavailable": kwargs.get("on_unavailable") or "fallback",
        "accept": tuple(kwargs.get("accept") or ()),
        **stop_settings(kwargs),
    }
    if travels:
        settings_of(**settings)  # what is wrong is said here, not in the worker
        module = "pkg://verifier.integrations.verl.reward_fn"
        return FunctionFrom(module, "compute_score_sync", settings)
    return VerlScorer(**settings)


class _InsideVerl:
    """Adds verl's rules to a manager of the loop interface."""

    _TRAVELS = False

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
        **settings: Any,
    ) -> None:
        settings["inside_verl"] = True
        super().__init__(
            config,  # type: ignore[call-arg]
            tokenizer,
            choose_scorer(config, compute_score, travels=self._TRAVELS),
            reward_router_address,
            reward_model_tokenizer,
            **settings,
        )


class NaiveRewardManager(_InsideVerl, naive.NaiveRewardManager):
    """`verifier.rewards.loop.NaiveRewardManager` inside verl."""


class DAPORewardManager(_InsideVerl, dapo.DAPORewardManager):
    """`verifier.rewards.loop.DAPORewardManager` inside verl."""


class GDPORewardManager(_InsideVerl, gdpo.GDPORewardManager):
    """`verifier.rewards.loop.GDPORewardManager` inside verl."""


class RateLimitedRewardManager(_InsideVerl, loop_rate_limited.RateLimitedRewardManager):
    """`verifier.rewards.loop.RateLimitedRewardManager` inside verl."""


class RemoteRewardManager(_InsideVerl, remote.RemoteRewardManager):
    """`verifier.rewards.loop.RemoteRewardManager` inside verl."""

    _TRAVELS = True


LOOP = {
    "verifier": NaiveRewardManager,
    "verifier_dapo": DAPORewardManager,
    "verifier_gdpo": GDPORewardManager,
    "verifier_rate_limited": RateLimitedRewardManager,
    "verifier_remote": RemoteRewardManager,
}
"""Names in verl's registry of the loop interface."""

LEGACY: dict[str, type[AbstractRewardManager]] = {
    "verifier": legacy_naive.NaiveRewardManager,
    "verifier_batch": batched.BatchRewardManager,
    "verifier_dapo": legacy_dapo.DAPORewardManager,
    "verifier_prime": prime.PrimeRewardManager,
    "verifier_rate_limited": rate_limited.RateLimitedRewardManager,
}
"""Names in verl's registry of the legacy interface."""
