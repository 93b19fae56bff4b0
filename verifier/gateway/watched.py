"""Files that are read again when they changed, and believed only when all is well with them.

Nothing waits for a change: whoever needs the value looks at the files' stamps (2 us each), so a
renewed certificate or token is used from the next call on. Where the new content is wrong, the old
value stays and the log says why, once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from verifier.errors import ConfigError

__all__ = ["Watched"]

_log = logging.getLogger("verifier.gateway")
_T = TypeVar("_T")
_Stamps = tuple[tuple[int, int, int] | None, ...]


class Watched(Generic[_T]):
    """A value made of files. May be asked from any thread.

    Args:
        paths: The files.
        read: Makes the value of them; raises `ConfigError`.
        name: Of the setting, for the log.
    """

    def __init__(self, paths: Sequence[Path], read: Callable[[], _T], name: str) -> None:
        """Read them.

        Raises:
            ConfigError: As `read` does.
        """
        self._paths = tuple(paths)
        self._read = read
        self._name = name
        self._lock = threading.Lock()
        # Before the value: a change in between is seen at the next look.
        self._stamps = self._look()
        self._value = read()

    def value(self) -> _T:
        """As the files are now, or as they last were right."""
        stamps = self._look()
        if stamps != self._stamps:
            with self._lock:
                if stamps != self._stamps:
                    self._renew(stamps)
        return self._value

    def _renew(self, stamps: _Stamps) -> None:
        self._stamps = stamps
        try:
            self._value = self._read()
        except ConfigError as exc:
            _log.error("%s: changed, and the old content stays in use: %s", self._name, exc)
        else:
            _log.info("%s: changed, and read again", self._name)

    def _look(self) -> _Stamps:
        return tuple(_stamp(path) for path in self._paths)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
