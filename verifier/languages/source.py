"""What is done to every source before a compiler sees it, so that all languages agree.

A byte-order mark is dropped (javac, bash and others stop at it), and lines that end in CR LF end in
LF (bash and Perl take the CR for a part of the line; javac, node, rustc and Python read CR LF as LF
by themselves). A NUL byte is a compile error: gcc drops it with a warning, bash reads on behind it,
PHP prints it.
"""

from __future__ import annotations

_BOM = b"\xef\xbb\xbf"


def tidied(source: bytes) -> bytes:
    """The source as compilers get it."""
    return source.removeprefix(_BOM).replace(b"\r\n", b"\n")


def problem(source: bytes) -> str:
    """Why this is no source in any language; "" where it may be one."""
    at = source.find(b"\0")
    if at < 0:
        return ""
    line = source.count(b"\n", 0, at) + 1
    return f"error: line {line}: the source holds a NUL byte"
