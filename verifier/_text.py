"""Text at the edges: encoding what may hold lone surrogates, and excerpts to print."""

from __future__ import annotations

EXCERPT_CHARS = 200


def to_utf8(text: str) -> bytes:
    """Encode to UTF-8; escaped surrogate pairs are joined, lone surrogates become U+FFFD.

    Detokenized responses and JSON escapes may hold half a pair, which `str.encode` refuses.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def to_text(data: str | bytes) -> str:
    """A str that can be encoded: invalid UTF-8 and lone surrogates become U+FFFD."""
    if isinstance(data, bytes):
        return data.decode("utf-8", "replace")
    return data if data.isascii() else to_utf8(data).decode()


def excerpt(data: str | bytes, limit: int = EXCERPT_CHARS) -> str:
    """The head of some data on one line, for a message: control characters are escaped.

    Costs time in the size of the excerpt, not of the data.
    """
    head = data[: limit * 4]
    text = head.decode("utf-8", "backslashreplace") if isinstance(head, bytes) else head
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in text[: limit + 1]
    )
    cut = len(shown) > limit or len(head) < len(data)
    return shown[:limit] + "..." if cut else shown
