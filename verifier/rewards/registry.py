"""Reward managers by name, as verl registers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from verifier.errors import ConfigError
from verifier.rewards.base import AbstractRewardManager
from verifier.scoring.sample import nearest

_Cls = TypeVar("_Cls", bound=type[AbstractRewardManager])

_managers: dict[str, type[AbstractRewardManager]] = {}


def register(name: str) -> Callable[[_Cls], _Cls]:
    """Class decorator: let `get_reward_manager_cls(name)` find the class.

    Raises:
        ConfigError: The name has another class. Registering the same class again is harmless.
    """

    def decorate(cls: _Cls) -> _Cls:
        known = _managers.setdefault(name, cls)
        if known is not cls:
            raise ConfigError(
                f"reward manager {name!r} is already registered: {_where(known)}; "
                f"give {_where(cls)} a name of its own"
            )
        return cls

    return decorate


def get_reward_manager_cls(name: str) -> type[AbstractRewardManager]:
    """The class that was registered under a name.

    Raises:
        ConfigError: There is none; names the nearest.
    """
    try:
        return _managers[name]
    except KeyError:
        raise ConfigError(f"unknown reward manager {name!r}; {nearest(name, _managers)}") from None


def _where(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
