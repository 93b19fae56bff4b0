"""Reward managers by name, as verl registers them: one table for each of the two interfaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from verifier.errors import ConfigError
from verifier.rewards.base import AbstractRewardManager
from verifier.scoring.sample import nearest

_Base = TypeVar("_Base")
_Cls = TypeVar("_Cls", bound=type)


class Registry(Generic[_Base]):
    """Classes by name.

    Args:
        what: What an error message calls them.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._classes: dict[str, type[_Base]] = {}

    def register(self, name: str) -> Callable[[_Cls], _Cls]:
        """Class decorator: let `get(name)` find the class.

        Raises:
            ConfigError: The name has another class. Registering the same class again is harmless.
        """

        def decorate(cls: _Cls) -> _Cls:
            known: type = self._classes.setdefault(name, cls)
            if known is not cls:
                raise ConfigError(
                    f"{self._what} {name!r} is already registered: {_where(known)}; "
                    f"give {_where(cls)} a name of its own"
                )
            return cls

        return decorate

    def get(self, name: str) -> type[_Base]:
        """The class that was registered under a name.

        Raises:
            ConfigError: There is none; names the nearest.
        """
        try:
            return self._classes[name]
        except KeyError:
            hint = nearest(name, self._classes)
            raise ConfigError(f"unknown {self._what} {name!r}; {hint}") from None

    def names(self) -> tuple[str, ...]:
        """All names."""
        return tuple(sorted(self._classes))


_legacy: Registry[AbstractRewardManager] = Registry("reward manager")
register = _legacy.register
get_reward_manager_cls = _legacy.get


def _where(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
