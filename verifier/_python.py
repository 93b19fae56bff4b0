"""Python's own parser, asked about text that nobody vouched for."""

from __future__ import annotations

import ast
import sys
import threading
import warnings

# CPython 3.10 overflows the C stack on expressions nested more than 100,000 deep (which take more
# than 64 kB to write); later versions raise. Parsing costs up to 2 us a character on hostile input.
MAX_PARSE_CHARS = 64_000 if sys.version_info < (3, 11) else 256_000

# `warnings.catch_warnings` swaps a global.
_WARNINGS_LOCK = threading.Lock()


def parse(text: str) -> ast.Module | None:
    """The syntax tree, or None if there is none. Never raises, never warns, runs nothing.

    A text over `MAX_PARSE_CHARS` has none.
    """
    if len(text) > MAX_PARSE_CHARS:
        return None
    try:
        with _WARNINGS_LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = compile(text, "<program>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return tree if isinstance(tree, ast.Module) else None
