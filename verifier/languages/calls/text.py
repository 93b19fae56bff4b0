"""Looking for declarations in a source, as far as that goes without a parser.

A source that hides what it declares (behind a macro, say) is not found to declare it, or does not
compile: a verdict of the program in both cases. Only a source's beginning is looked at, and every
repetition in a pattern that may begin anywhere is bounded, so that no source takes long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENTS = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?"
_STRING = r'"(?:[^"\\\n]|\\.)*"?'
# One character: Rust has lifetimes, and C++ digits with marks between them.
_CHARACTER = r"'(?:[^'\\\n]|\\[^\n][^'\n]{0,10})'"
_RAW = r'\bR"\((?:[^)]|\)(?!"))*(?:\)")?'
_QUOTED = r"'(?:[^'\\\n]|\\.)*'?"
_BACKTICKS = r"`(?:[^`\\]|\\.)*`?"
C_LIKE = re.compile(f"{_COMMENTS}|{_RAW}|{_STRING}|{_CHARACTER}", re.DOTALL)
GO_LIKE = re.compile(f"{_COMMENTS}|{_STRING}|{_CHARACTER}|`[^`]*`?", re.DOTALL)
JS_LIKE = re.compile(f"{_COMMENTS}|{_STRING}|{_QUOTED}|{_BACKTICKS}", re.DOTALL)
# Answers are much shorter.
MAX_CHARS = 64 * 1024
_NO_BREAK = re.compile(r"[^\n]")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def code_of(source: str, not_code: re.Pattern[str] = C_LIKE) -> str:
    """The source with blanks for its comments and literals: every place stays the same."""
    return not_code.sub(lambda m: _NO_BREAK.sub(" ", m[0]), source[:MAX_CHARS])


def outermost(
    code: str, pattern: str, start: int = 0, end: int | None = None
) -> Iterator[re.Match[str]]:
    """Matches in no braces, other than those that are open at `start`.

    Args:
        code: See `code_of`.
        pattern: Has no braces but in lookarounds.
        start: Where to begin.
        end: Where to stop.
    """
    depth = 0
    for match in re.compile(rf"[{{}}]|{pattern}").finditer(
        code, start, len(code) if end is None else end
    ):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
        elif depth == 0:
            yield match


def closing(code: str, start: int) -> int:
    """The place of the bracket that closes the one at `start`; the code's end where none does."""
    opened, closed = code[start], _CLOSING[code[start]]
    depth = 0
    for match in re.compile(f"[{re.escape(opened + closed)}]").finditer(code, start):
        if opened == "<" and code[match.start() - 1] in "-=":  # an arrow
            continue
        depth += 1 if match[0] == opened else -1
        if depth == 0:
            return match.start()
    return len(code)


def split(text: str) -> list[str]:
    """What is between the commas that are in no brackets; nothing for nothing."""
    parts, depth, begin = [], 0, 0
    for match in re.finditer(r"[][(){}<>,]", text):
        if match[0] == ">" and text[match.start() - 1] in "-=":
            continue
        if match[0] == "," and depth == 0:
            parts.append(text[begin : match.start()].strip())
            begin = match.end()
        elif match[0] != ",":
            depth += 1 if match[0] in "[({<" else -1
    parts.append(text[begin:].strip())
    return [part for part in parts if part]


def defines_type(code: str, name: str, keywords: str = "struct|class") -> bool:
    """Whether a type of that name has a body in the code."""
    return re.search(rf"\b(?:{keywords})\s{{1,9}}{name}\b[^;{{()]{{0,200}}\{{", code) is not None


def mentions(code: str, name: str) -> bool:
    """Whether a name is used in the code."""
    return re.search(rf"\b{name}\b", code) is not None
