"""The tests of a jest file: `describe` around `test` and `it`, found by the file's tokens alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["jest_tests"]

_TOKEN = re.compile(
    r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?"
    r"|(?P<text>'(?:[^'\\\n]|\\(?s:.))*'|\"(?:[^\"\\\n]|\\(?s:.))*\"|`(?:[^`\\]|\\(?s:.))*`)"
    r"|(?P<regex>(?:(?<=[(,=:\[!&|?{};])|(?<=return))\s*"
    # Bounded: where it does not end, it is looked for from each place anew.
    r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,40}\]){1,100}/[a-z]*)"
    r"|(?P<word>(?<![\w$.])[A-Za-z_$][\w$]*(?:\s*\.\s*[A-Za-z_$][\w$]*)*)|(?P<mark>[()\[\]{},])"
)
_TESTS = {"test", "it", "fit", "xit", "xtest"}
_GROUPS = {"describe", "fdescribe", "xdescribe"}
_COMPUTED = ".*"
# What `each` puts into a name.
_HOLES = re.compile(r"%[psdifjoO#]|%%|\$[\w.#]+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


@dataclass(slots=True)
class _Group:
    """A `describe` that is open: where it began, and what its tests are."""

    depth: int
    shown: str
    pattern: str
    skipped: bool
    only: bool


@dataclass(frozen=True, slots=True)
class _Test:
    shown: str
    pattern: str
    only: bool


def jest_tests(text: str) -> Iterator[tuple[str, str]]:
    """(name, pattern) of each test; the pattern is "" where the name is all there is to know."""
    tests = list(_tests(text))
    chosen = [test for test in tests if test.only] or tests
    for test in chosen:
        known = test.pattern == re.escape(test.shown)
        yield test.shown, "" if known else test.pattern


def _tests(text: str) -> Iterator[_Test]:
    tokens = [m for m in _TOKEN.finditer(text) if m.lastgroup in ("text", "word", "mark")]
    groups: list[_Group] = []
    depth, at = 0, 0
    while at < len(tokens):
        token = tokens[at]
        word = re.sub(r"\s", "", token["word"] or "")
        head, *mods = word.split(".")
        at += 1
        if token["mark"]:
            depth += {"(": 1, "[": 1, "{": 1}.get(token[0], -1 if token[0] != "," else 0)
            while groups and groups[-1].depth > depth:
                groups.pop()
        elif head in _TESTS | _GROUPS:
            begin = _behind_each(tokens, at) if "each" in mods else at
            if begin >= len(tokens) or tokens[begin][0] != "(":
                continue
            shown, pattern = _title(tokens, begin + 1, each="each" in mods)
            outer = groups[-1] if groups else _Group(0, "", "", skipped=False, only=False)
            shown = f"{outer.shown} > {shown}" if outer.shown else shown
            pattern = f"{outer.pattern}{re.escape(' > ')}{pattern}" if outer.pattern else pattern
            skipped = outer.skipped or head[0] == "x" or bool({"skip", "todo"} & {*mods})
            only = outer.only or head[0] == "f" or "only" in mods
            if head in _GROUPS:
                groups.append(_Group(depth + 1, shown, pattern, skipped, only))
                depth += 1
                at = begin + 1
            elif not skipped:
                yield _Test(shown, pattern, only)


def _behind_each(tokens: list[re.Match[str]], at: int) -> int:
    """The index of what follows the table: a list in brackets, or a template."""
    if at < len(tokens) and tokens[at]["text"]:
        return at + 1
    depth = 0
    while at < len(tokens):
        depth += {"(": 1, ")": -1}.get(tokens[at][0], 0)
        at += 1
        if depth <= 0:
            return at
    return at


def _title(tokens: list[re.Match[str]], at: int, *, each: bool) -> tuple[str, str]:
    """(as it is shown, as a pattern)."""
    literal = at + 1 < len(tokens) and tokens[at]["text"] and tokens[at + 1][0] in (",", ")")
    if not literal:
        return "*", _COMPUTED
    text = tokens[at]["text"]
    shown = re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(?s:(.)))",
        lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else _ESCAPES.get(m[3], m[3]),
        text[1:-1],
    )
    holes = re.compile(r"\$\{[^}]*\}") if text[0] == "`" else None
    parts = [shown]
    for hole in (holes, _HOLES if each else None):
        if hole is not None:
            parts = [piece for part in parts for piece in hole.split(part)]
    return shown, _COMPUTED.join(map(re.escape, parts))
