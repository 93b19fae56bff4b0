"""The file of bearer tokens."""

from __future__ import annotations

import contextlib

from verifier.errors import ConfigError
from verifier.gateway.tokens import parse_tokens

WORDS = b"sha256: max_requests= max_bytes= expires=2027-01-31T00:00:00Z #".split()
SECRET = "Zr2nC4Yc0XoV8pYl0m3x6Q"


def target(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(ConfigError):
        for token in parse_tokens(text):
            assert token.name
            assert len(token.digest) == 32
            assert token.quota.requests is None or token.quota.requests > 0
            assert token.quota.held_bytes is None or token.quota.held_bytes > 0
    # Whatever stands around a token, no message shows it.
    said = ""
    try:
        parse_tokens(f"{text} {SECRET} {text}")
    except ConfigError as error:
        said = str(error)
    assert SECRET not in said
    assert len(said) < 300


def seeds() -> list[bytes]:
    return [
        f"alice {SECRET}\n".encode(),
        b"bob sha256:" + b"0a" * 32 + b" max_requests=7 expires=2027-01-31\n",
        f"# all\na {SECRET} max_bytes=1 expires=2027-01-31T12:00:00+01:00\n\nb x\n".encode(),
    ]
