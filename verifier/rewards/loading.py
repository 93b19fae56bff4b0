"""A reward manager, of either interface, from a configuration with verl's keys.

`verifier.rewards.settings` lists the keys. A custom reward function is loaded where it is called:
what is handed to a manager is its address, so it reaches worker processes even when it cannot be
pickled.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from verifier._loading import FunctionFrom, load_object
from verifier.errors import ConfigError
from verifier.rewards.base import AbstractRewardManager, Tokenizer
from verifier.rewards.loop import RewardManagerBase
from verifier.rewards.loop import get_reward_manager_cls as get_loop_manager_cls
from verifier.rewards.registry import get_reward_manager_cls
from verifier.rewards.settings import RewardConfig, read_reward_config
from verifier.scoring.routing import DefaultScorer
from verifier.scoring.training import stop_settings

__all__ = ["FunctionFrom", "load_loop_manager", "load_object", "load_reward_manager"]


def load_reward_manager(
    config: Any, tokenizer: Tokenizer, num_examine: int = 0, **kwargs: Any
) -> AbstractRewardManager:
    """Build the manager of the legacy interface that a configuration describes.

    Args:
        config: See `verifier.rewards.settings`.
        tokenizer: Decodes prompts and responses.
        num_examine: Samples per data source that are printed.
        **kwargs: For the manager; these go before `reward.reward_kwargs`.

    Raises:
        ConfigError: A setting is wrong, or names what is not there.
    """
    read = read_reward_config(config)
    cls: Any = _manager_class(read, get_reward_manager_cls)
    settings = {**read.reward_kwargs, **kwargs}
    if read.manager_name == "rate_limited" and read.manager_source == "register":
        settings.setdefault("config", config)
    scorer = settings.pop("compute_score", None) or custom_scorer(read)
    if scorer is None:
        scorer = DefaultScorer(
            server=settings.pop("server", None),
            on_unavailable=settings.get("on_unavailable") or "fallback",
            accept=tuple(settings.get("accept") or ()),
            **{name: settings.pop(name) for name in stop_settings(settings)},
            **read.sandbox_settings(),
        )
    made: AbstractRewardManager = cls(tokenizer, num_examine, scorer, **settings)
    return made


def load_loop_manager(
    config: Any,
    tokenizer: Tokenizer,
    *,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    compute_score: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> RewardManagerBase:
    """Build the manager of the loop interface that a configuration describes.

    Args:
        config: See `verifier.rewards.settings`.
        tokenizer: Decodes prompts and responses.
        reward_router_address: "HOST:PORT" of a reward model's router, for the scorer.
        reward_model_tokenizer: The reward model's tokenizer, for the scorer.
        compute_score: The scorer; goes before the configured one.
        **kwargs: For the manager; these go before `reward.reward_kwargs`.

    Raises:
        ConfigError: A setting is wrong, or names what is not there.
    """
    read = read_reward_config(config)
    cls: Any = loop_manager_class(read)
    made: RewardManagerBase = cls(
        config,
        tokenizer,
        compute_score or custom_scorer(read),
        reward_router_address,
        reward_model_tokenizer,
        **kwargs,
    )
    return made


def loop_manager_class(read: RewardConfig) -> type[RewardManagerBase]:
    """The class of the loop interface that a configuration names.

    Raises:
        ConfigError: It is not there.
    """
    cls: type[RewardManagerBase] = _manager_class(read, get_loop_manager_cls)
    return cls


def _manager_class(read: RewardConfig, find: Callable[[str], type]) -> Any:
    if read.manager_source == "register":
        return find(read.manager_name)
    if not read.manager_path:
        raise ConfigError("reward_manager.source=importlib needs reward_manager.module.path")
    return load_object(read.manager_path, read.manager_name)


def custom_scorer(read: RewardConfig) -> Any:
    """The custom reward function that a configuration names, as it may travel; None without one.

    Raises:
        ConfigError: It is not there.
    """
    if read.custom_path is None:
        return None
    scorer = FunctionFrom(read.custom_path, read.custom_name, read.custom_kwargs)
    fn = scorer.load()  # what is not there is said now
    if hasattr(fn, "score_batch") or hasattr(fn, "ascore_batch"):
        if read.custom_kwargs:
            raise ConfigError(
                f"{read.custom_path} {read.custom_name} takes batches: it cannot be bound to "
                "custom_reward_function.reward_kwargs; make it with them"
            )
        return fn
    if not inspect.iscoroutinefunction(fn):
        return scorer

    async def call(*args: Any, **given: Any) -> Any:
        return await scorer(*args, **given)

    call.__name__ = read.custom_name
    return call if read.manager_name != "remote" else scorer
