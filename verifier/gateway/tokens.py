"""The file of bearer tokens: who may call, with which quota, and until when.

One line per token:

    # name      token, or its SHA-256                     options
    trainer-a   sha256:9f86d081884c7d659a2feaa0c55ad01... max_requests=4096 expires=2027-01-31
    notebook    Zr2nC4Yc0XoV8pYl0m3x6Q                    max_bytes=67108864

The file is read again when it changed, without a restart. A file that has become unreadable or
wrong changes nothing: the tokens that were known stay so, and the log says what is wrong. Tokens
are never in a message, and only their SHA-256 is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from verifier.errors import ConfigError
from verifier.gateway.quotas import Quota
from verifier.gateway.watched import Watched

__all__ = ["Token", "TokenFile", "parse_tokens"]

_log = logging.getLogger("verifier.gateway")

_MAX_FILE_BYTES = 4 * 1024 * 1024
# RFC 6750's b64token. Fewer characters can be guessed.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,}=*\Z")
_DIGEST = re.compile(r"sha256:([0-9a-fA-F]{64})\Z")
_NAME = re.compile(r"[A-Za-z0-9._@:/-]{1,128}\Z")
_COUNT = re.compile(r"[1-9][0-9]{0,17}\Z")


@dataclass(frozen=True, slots=True)
class Token:
    """One line.

    Attributes:
        name: The client id of whoever shows it.
        digest: SHA-256 of the token.
        quota: What its line says.
        expires: Seconds since the epoch; None: never.
    """

    name: str
    digest: bytes
    quota: Quota = field(default_factory=Quota)
    expires: float | None = None


def parse_tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a file's text.

    Raises:
        ConfigError: A line is wrong; names the line, never what stands in it.
    """
    found: dict[bytes, Token] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            token = _token(words)
        except ValueError as exc:
            raise ConfigError(f"tokens: line {number}: {exc}") from None
        if token.digest in found:
            raise ConfigError(f"tokens: line {number}: the token of an earlier line again")
        found[token.digest] = token
    if not found:
        raise ConfigError("tokens: the file holds no token, so nobody could call")
    return tuple(found.values())


def _token(words: list[str]) -> Token:
    if len(words) < 2:
        raise ValueError("expected a name and a token")
    name, secret, *options = words
    if not _NAME.match(name):
        raise ValueError("the name may have letters, digits and . _ @ : / - only, at most 128")
    digest = _DIGEST.match(secret)
    if digest is None and not _TOKEN.match(secret):
        raise ValueError(
            "the token needs at least 16 letters, digits and . _ ~ + / - (try `openssl rand "
            "-hex 32`), or stands there as sha256: and 64 hexadecimal digits"
        )
    key = bytes.fromhex(digest[1]) if digest else hashlib.sha256(secret.encode()).digest()
    given: dict[str, str] = {}
    for option in options:
        what, equals, value = option.partition("=")
        if not equals or what not in ("max_requests", "max_bytes", "expires") or what in given:
            raise ValueError(
                "after the token: max_requests=N, max_bytes=N, expires=DATE, each once"
            )
        given[what] = value
    quota = Quota(_count(given, "max_requests"), _count(given, "max_bytes"))
    return Token(name, key, quota, _expiry(given["expires"]) if "expires" in given else None)


def _count(given: dict[str, str], what: str) -> int | None:
    value = given.get(what)
    if value is None:
        return None
    if not _COUNT.match(value):
        raise ValueError(f"{what} has to be a positive whole number")
    return int(value)


def _expiry(value: str) -> float:
    try:
        # Python 3.10 does not know the Z.
        moment = datetime.fromisoformat(re.sub(r"[zZ]\Z", "+00:00", value))
    except ValueError:
        raise ValueError("expires has to be a date, 2027-01-31 or 2027-01-31T12:00:00Z") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    try:
        return moment.timestamp()
    except (OverflowError, ValueError):
        raise ValueError("expires is out of range") from None


class TokenFile:
    """The tokens of a file, as it is now.

    Args:
        path: The file.
        now: Seconds since the epoch.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        """Read it.

        Raises:
            ConfigError: It cannot be read, or a line is wrong.
        """
        self._now = now
        self._watched = Watched((path,), lambda: _read(path), "tokens")

    def find(self, secret: str) -> Token | None:
        """Whose token this is; None where it is nobody's, or has expired."""
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
        return self.known(digest)

    def known(self, digest: bytes) -> Token | None:
        """The token with this digest, if it is valid at this moment."""
        found = None
        # All of them, whichever it is: the time it takes says nothing.
        for token in self._watched.value():
            if hmac.compare_digest(token.digest, digest):
                found = token
        if found is None or (found.expires is not None and found.expires <= self._now()):
            return None
        return found


def _read(path: Path) -> tuple[Token, ...]:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError as exc:
        # The path is not in the message: somebody may have set the token itself.
        raise ConfigError(f"tokens: cannot read the file of tokens: {exc.strerror}") from None
    if len(data) > _MAX_FILE_BYTES:
        raise ConfigError(f"tokens: the file is over {_MAX_FILE_BYTES} bytes")
    if stat.S_ISREG(mode) and mode & stat.S_IRWXO:
        _log.warning("tokens: every user of this machine can read the file of tokens: chmod o-rwx")
    try:
        return parse_tokens(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise ConfigError("tokens: the file is not UTF-8") from None
