"""JSON that came in pieces, read without ever being whole.

An upload of a suite may be hundreds of megabytes. Read at once, its bytes, its text and what it
says would be held beside each other. Here a piece is dropped as soon as it is read: the outer
object or list, and the lists that are its fields, are read element by element, and each element by
the standard library's decoder. The value is the one that `_json.loads` gives for the pieces
together.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import deque
from collections.abc import Iterable

from verifier import _json

__all__ = ["Pieces"]

_GOES_ON = len("e+")
_BLANK = (b" ", b"\t", b"\n", b"\r")
_BLANKS = re.compile(r"[ \t\n\r]*")


class Pieces:
    """The bytes of one JSON text, until they are read."""

    __slots__ = ("data",)

    def __init__(self, data: list[bytes]) -> None:
        """Takes the list over."""
        self.data = data

    def first(self) -> bytes:
        """The first byte that is not blank; b"" where there is none."""
        for piece in self.data:
            found = piece.lstrip(b" \t\n\r")[:1] if piece[:1] in _BLANK else piece[:1]
            if found:
                return found
        return b""

    def joined(self) -> bytes:
        """All of them; none is left."""
        whole = b"".join(self.data)
        self.data.clear()
        return whole

    def loads(self) -> object:
        """Decode the one JSON value; none is left.

        Raises:
            ValueError: It is not JSON, not UTF-8, or nested too deeply.
        """
        text = _Text(self.data)
        self.data.clear()
        try:
            value = _value(text)
            if text.peek():
                raise text.error("Extra data")
        except RecursionError:
            raise ValueError("nested too deeply") from None
        return value


class _Text:
    """The part of the text that is looked at."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = deque(pieces)
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._decode = _json.decoder("")
        self._text = ""
        self._at = 0
        self._dropped = 0

    def error(self, problem: str) -> ValueError:
        return ValueError(f"{problem} (char {self._dropped + self._at})")

    def peek(self) -> str:
        """The next character that is not blank, which stays; "" at the end."""
        while True:
            found = _BLANKS.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def skip(self, wanted: str) -> None:
        if self.peek() != wanted or not wanted:
            raise self.error(f"Expecting {wanted!r}")
        self._at += 1

    def element(self) -> object:
        """The value that begins at the next character that is not blank."""
        self.peek()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as problem:
                if self._more():
                    continue
                self._at = problem.pos
                raise self.error(problem.msg) from None
            # A number may go on behind the text: "1", "1.", "1e+".
            if end + _GOES_ON < len(self._text) or not self._more():
                self._at = end
                return value

    def _more(self) -> bool:
        """Let go of what was read, and take in at least as much as is there."""
        if not self._pieces:
            return False
        rest = self._text[self._at :]
        self._dropped += self._at
        self._at = 0
        parts, size = [rest], 0
        while self._pieces and size <= len(rest):
            piece = self._pieces.popleft()
            parts.append(self._utf8.decode(piece, final=not self._pieces))
            size += len(piece)
        self._text = "".join(parts)
        self._decode = _json.decoder(self._text)
        return True


def _value(text: _Text) -> object:
    first = text.peek()
    if first == "[":
        return _list(text)
    if first != "{":
        return text.element()
    found: dict[str, object] = {}
    text.skip("{")
    if text.peek() == "}":
        text.skip("}")
        return found
    while True:
        if text.peek() != '"':
            raise text.error("Expecting property name enclosed in double quotes")
        key = str(text.element())
        text.skip(":")
        found[key] = _list(text) if text.peek() == "[" else text.element()
        if text.peek() != ",":
            text.skip("}")
            return found
        text.skip(",")


def _list(text: _Text) -> list[object]:
    found: list[object] = []
    text.skip("[")
    if text.peek() == "]":
        text.skip("]")
        return found
    while True:
        found.append(text.element())
        if text.peek() != ",":
            text.skip("]")
            return found
        text.skip(",")
