"""Bytes on disk by key, as a second tier behind a cache in memory.

One file an entry, in one private folder that several processes may share. Theory of operation:

- Nothing that is read is believed: an entry begins with a digest over its key and its content, so
  one that is cut short, was moved to another name, or is not ours is a miss, and is removed.
- Nobody else may have written it: the folder is made for its owner alone (0700), and refused where
  it belongs to another user or others may write to it. All work goes through a descriptor of the
  folder that was looked at, so exchanging the path later changes nothing.
- An entry is written under a temporary name and renamed: a reader sees all of it or nothing.
- The least recently used go first. A use is the file's time stamp, so processes agree on it; each
  looks at the whole folder after it has written a sixteenth of the budget.
- A cache is never a reason to fail. What the disk refuses is said once in the log, stands in
  `problem` while it lasts, and the caller goes on without.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["DiskCache", "UnsafeFolderError", "open_private"]

logger = logging.getLogger("verifier.cache")

_MAGIC = b"verifier-cache-1\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
_TEMPORARY = ".tmp-"
# A writer that died left these behind; a living one needs them for seconds.
_STALE_S = 3600.0
# After the disk has refused a write, the next one is tried so much later.
_PAUSE_S = 60.0
# A trim goes below the budget, so that the next write does not have to trim again.
_TRIM_TO = 0.9
_LOOK_AFTER = 16
_FULL = (errno.ENOSPC, errno.EDQUOT)


class UnsafeFolderError(OSError):
    """Somebody else may have written what is in the folder."""


def open_private(folder: Path) -> int:
    """A descriptor of a folder that nobody else may write to; made (0700) where it is absent.

    Raises:
        UnsafeFolderError: It belongs to another user, or others may write to it.
        OSError: It cannot be made or opened.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(fd)
    problem = ""
    if found.st_uid != os.geteuid():
        problem = f"it belongs to user {found.st_uid}; name a folder of your own"
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        problem = f"others may write to it; chmod go-w {folder}"
    if problem:
        os.close(fd)
        raise UnsafeFolderError(errno.EPERM, problem, str(folder))
    return fd


class DiskCache:
    """See the module. Every method blocks on the disk, and may be called from any thread.

    Attributes:
        folder: Where the entries are.
        problem: Why it cannot be used at the moment, for a person; "" while it can.
    """

    def __init__(
        self, folder: Path, budget_bytes: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make the folder, or find that there can be none: that is a `problem`, not an error.

        Args:
            folder: Its parent, which the operator named, has to be as private as it is.
            budget_bytes: Of all entries together.
            clock: Monotonic seconds.
        """
        self.folder = folder
        self.problem = ""
        self._budget = budget_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._warned = False
        self._resume_at = 0.0
        self._used = 0
        self._written = 0
        self._fd = -1
        try:
            os.close(open_private(folder.parent))
            self._fd = open_private(folder)
            self._write(_TEMPORARY + "probe")
            self._drop(_TEMPORARY + "probe")
            self._trim(budget_bytes)
        except OSError as error:
            self._failed(error)

    def close(self) -> None:
        """Use it no more."""
        with self._lock:
            fd, self._fd = self._fd, -1
            if fd >= 0:
                os.close(fd)

    def get(self, key: str) -> memoryview | None:
        """The content of an entry; None where there is none that can be believed."""
        try:
            fd = os.open(
                key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._fd
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            # A link, or what cannot be opened by its owner: not an entry of ours.
            if error.errno != errno.EBADF:
                self._drop(key)
            return None
        data = None
        try:
            with os.fdopen(fd, "rb") as file:
                found = os.fstat(fd)
                if stat.S_ISREG(found.st_mode) and found.st_size <= self._budget + _HEAD:
                    data = _believed(key, file.read())
                if data is not None:
                    with contextlib.suppress(OSError):
                        os.utime(fd)
        except OSError:
            data = None
        if data is None:
            self._drop(key)
        return data

    def touch(self, key: str) -> bool:
        """Whether there is such an entry (nobody looks into it); counts as a use."""
        try:
            os.utime(key, dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return False
        return True

    def put(self, key: str, *parts: bytes) -> None:
        """Keep an entry, unless it is bigger than the budget or the disk refuses it.

        Its content is what the parts make together; they are not copied.
        """
        size = sum(map(len, parts)) + _HEAD
        with self._lock:
            if self._fd < 0 or size > self._budget or self._clock() < self._resume_at:
                return
            temporary = f"{_TEMPORARY}{os.getpid()}-{threading.get_ident()}"
            try:
                self._write(temporary, _MAGIC, _digest(key, *parts), *parts)
                os.rename(temporary, key, src_dir_fd=self._fd, dst_dir_fd=self._fd)
                self._used += size
                self._written += size
                if self._used > self._budget or self._written > self._budget // _LOOK_AFTER:
                    self._trim(self._budget)
            except IsADirectoryError:  # somebody's folder under that name: not ours to remove
                self._drop(temporary)
            except OSError as error:
                self._drop(temporary)
                self._failed(error)
                if error.errno in _FULL:
                    with contextlib.suppress(OSError):
                        self._trim(self._used // 2)
            else:
                self.problem = ""

    def remove(self, key: str) -> None:
        """Forget an entry whose content turned out to be of no use."""
        self._drop(key)

    # ------------------------------------------------------------ inside

    def _write(self, name: str, *parts: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(name, flags, 0o600, dir_fd=self._fd)
        with os.fdopen(fd, "wb") as file:
            file.writelines(parts)

    def _drop(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self._fd)

    def _trim(self, budget: int) -> None:
        """Look at the folder; remove the least recently used until the rest is in the budget."""
        now = time.time()
        entries = []
        with os.scandir(self._fd) as found:
            for entry in found:
                with contextlib.suppress(OSError):  # another process removes too
                    info = entry.stat(follow_symlinks=False)
                    if not entry.name.startswith(_TEMPORARY):
                        entries.append((info.st_mtime_ns, info.st_size, entry.name))
                    elif now - info.st_mtime > _STALE_S:
                        self._drop(entry.name)
        used = sum(size for _, size, _ in entries)
        if used > budget:
            for _, size, name in sorted(entries):
                if used <= budget * _TRIM_TO:
                    break
                self._drop(name)
                used -= size
        self._used, self._written = used, 0

    def _failed(self, error: OSError) -> None:
        self._resume_at = self._clock() + _PAUSE_S
        self.problem = f"{self.folder}: {error.strerror or error}; caching in memory only"
        if not self._warned:
            self._warned = True
            logger.warning("disk cache %s", self.problem)


def _digest(key: str, *parts: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(key.encode() + b"\0")
    for part in parts:
        digest.update(part)
    return digest.digest()


def _believed(key: str, raw: bytes) -> memoryview | None:
    if len(raw) < _HEAD or not raw.startswith(_MAGIC):
        return None
    data = memoryview(raw)[_HEAD:]
    return data if raw[len(_MAGIC) : _HEAD] == _digest(key, data) else None
