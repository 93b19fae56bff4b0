"""A reward manager from a configuration with verl's keys.

    reward.reward_manager.{source: register|importlib, name, module.path}
    reward.custom_reward_function.{path, name, reward_kwargs}
    reward.sandbox_fusion.{url, memory_limit_mb, max_concurrent}
    reward.reward_kwargs                      keyword arguments of the manager

The mapping may be a plain dict or an OmegaConf node, with or without the top key `reward`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from verifier.errors import ConfigError
from verifier.rewards.base import AbstractRewardManager, Tokenizer
from verifier.rewards.registry import get_reward_manager_cls
from verifier.scoring.routing import DefaultScorer


def load_reward_manager(
    config: Any, tokenizer: Tokenizer, num_examine: int = 0, **kwargs: Any
) -> AbstractRewardManager:
    """Build the manager that a configuration describes.

    Args:
        config: See the head of this module.
        tokenizer: Decodes prompts and responses.
        num_examine: Samples per data source that are printed.
        **kwargs: For the manager; these go before `reward.reward_kwargs`.

    Raises:
        ConfigError: A setting is wrong, or names what is not there.
    """
    reward = _get(config, "reward") or config
    manager = _get(reward, "reward_manager") or {}
    source = _get(manager, "source") or "register"
    name = str(_get(manager, "name") or "naive")
    if source == "register":
        cls: Any = get_reward_manager_cls(name)
    elif source == "importlib":
        path = _get(_get(manager, "module") or {}, "path")
        if not path:
            raise ConfigError("reward_manager.source=importlib needs reward_manager.module.path")
        cls = load_object(str(path), name)
    else:
        raise ConfigError(f"reward_manager.source={source!r}; it is 'register' or 'importlib'")
    settings = {**_plain(_get(reward, "reward_kwargs")), **kwargs}
    scorer = settings.pop("compute_score", None) or _scorer(reward, settings)
    made: AbstractRewardManager = cls(tokenizer, num_examine, scorer, **settings)
    return made


def load_object(path: str, name: str) -> Any:
    """An object of a module: "pkg://package.module", or the path of a Python file.

    Raises:
        ConfigError: The module or the object is not there.
    """
    if path.startswith("pkg://"):
        module_name = path.removeprefix("pkg://")
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            raise ConfigError(f"cannot import {module_name!r} (from {path!r}): {error}") from error
    else:
        file = Path(path.removeprefix("file://"))
        if not file.is_file():
            raise ConfigError(
                f"there is no file {file} (a module of a package is 'pkg://its.name')"
            )
        module_name = f"verifier_user_{file.stem}"
        spec = importlib.util.spec_from_file_location(module_name, file)
        if spec is None or spec.loader is None:
            raise ConfigError(f"{file} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module  # dataclasses and pickle look a class's module up there
        spec.loader.exec_module(module)
    try:
        return getattr(module, name)
    except AttributeError:
        raise ConfigError(f"{path} has no {name!r}") from None


def _scorer(reward: Any, settings: dict[str, Any]) -> Any:
    custom = _get(reward, "custom_reward_function") or {}
    path = _get(custom, "path")
    if path:
        fn = load_object(str(path), str(_get(custom, "name") or "compute_score"))
        bound = _plain(_get(custom, "reward_kwargs"))
        return _bind(fn, bound) if bound else fn
    sandbox = _get(reward, "sandbox_fusion") or {}
    return DefaultScorer(
        server=settings.pop("server", None),
        sandbox_fusion_url=_get(sandbox, "url"),
        memory_limit_mb=_get(sandbox, "memory_limit_mb"),
        on_unavailable=settings.get("on_unavailable") or "fallback",
        accept=tuple(settings.get("accept") or ()),
    )


def _bind(fn: Callable[..., Any], bound: dict[str, Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def call_async(**given: Any) -> Any:
            return await fn(**{**given, **bound})

        return call_async

    @functools.wraps(fn)
    def call(**given: Any) -> Any:
        return fn(**{**given, **bound})

    return call


def _get(config: Any, key: str) -> Any:
    getter = getattr(config, "get", None)
    return getter(key) if callable(getter) else getattr(config, key, None)


def _plain(config: Any) -> dict[str, Any]:
    if config is None:
        return {}
    if isinstance(config, Mapping) or hasattr(config, "items"):
        return {str(key): value for key, value in config.items()}
    raise ConfigError(f"expected a mapping of keyword arguments, not a {type(config).__name__}")
