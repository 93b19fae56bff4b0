"""Is a text a program of some language? Python is asked of the parser; the others, of a few marks.

The parser runs in this process on text that a model wrote, so it is bounded: sources over a cap are
not parsed, and a `Checker` has a budget for all candidates of one response.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass, field

from verifier import _python
from verifier.languages import written_as
from verifier.languages.calls.base import spellings

# At most a second of parsing for one response.
PARSE_BUDGET_CHARS = 512_000


@dataclass(frozen=True, slots=True)
class Python:
    """What a text is as Python.

    Attributes:
        parses: It does, or it is too long to be asked.
        empty: Nothing but comments.
        is_program: Does something: a text that merely parses may be prose ("Hello").
        names: What it defines at the top level, and in classes there.
        imported: The names that come from other modules.
        source: The text that was parsed (dedented where that was needed).
    """

    parses: bool = False
    empty: bool = False
    is_program: bool = False
    names: frozenset[str] = frozenset()
    imported: frozenset[str] = frozenset()
    source: str = ""


@dataclass(slots=True)
class Checker:
    """Checks the candidates of one response, within one budget."""

    budget: int = PARSE_BUDGET_CHARS
    _seen: dict[str, Python] = field(default_factory=dict)

    def python(self, text: str) -> Python:
        """Parse a text as Python; remembered, since several rules ask."""
        known = self._seen.get(text)
        if known is None:
            known = self._seen[text] = self._parse(text)
        return known

    def _parse(self, text: str) -> Python:
        if len(text) > _python.MAX_PARSE_CHARS:
            return Python(parses=True, names=frozenset(_DEF.findall(text)), source=text)
        if len(text) > self.budget:
            return Python(parses=True, source=text)
        self.budget -= len(text)
        tree = _python.parse(text)
        if tree is None and text[:1] in " \t\n":
            text = textwrap.dedent(text)
            tree = _python.parse(text)
        if tree is None:
            return Python(source=text)
        defined, imported = _names(tree.body)
        return Python(
            parses=True,
            empty=not tree.body,
            is_program=any(_does_something(node) for node in tree.body),
            names=frozenset((*defined, *imported)),
            imported=frozenset(imported) - frozenset(defined),
            source=text,
        )

    def defines(self, language: str, text: str, name: str) -> bool:
        """The text defines this function (or method, or class).

        In other languages than Python, however the name is spelled there.
        """
        if language == "python":
            return name in self.python(text).names
        names = "|".join(spellings(name))
        pattern = rf"\b(?:{names})\s{{0,20}}(?:\(|=[^=])" if names else re.escape(name)
        return re.search(pattern, text) is not None

    def imports_alone(self, language: str, text: str, name: str) -> bool:
        """The text has this name from another module, and defines it nowhere."""
        return language == "python" and name in self.python(text).imported

    def is_program(self, language: str, text: str) -> bool:
        """An untagged text is a program of this language, as far as its marks say."""
        if language == "python":
            return self.python(text).is_program
        marks = _MARKS.get(language)
        return marks is not None and marks.search(text, 0, _MARK_CHARS) is not None


_DEF = re.compile(
    r"^[ \t]{0,8}(?:async[ \t]{1,4})?(?:def|class)[ \t]{1,4}(\w{1,100})", re.MULTILINE
)
_ACTS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AugAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.With,
    ast.Try,
    ast.Raise,
    ast.Assert,
    ast.Delete,
    ast.Match,
)


def _does_something(node: ast.stmt) -> bool:
    """`a: int` and `Hello` parse, but are prose more often than programs."""
    if isinstance(node, ast.AnnAssign):
        return node.value is not None
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(value, (ast.Call, ast.ListComp, ast.GeneratorExp, ast.NamedExpr))
    return isinstance(node, _ACTS)


def _names(body: list[ast.stmt], depth: int = 0) -> tuple[list[str], list[str]]:
    """What these statements define, and what they import."""
    found: list[str] = []
    imported: list[str] = []
    for node in body:
        inner: list[ast.stmt] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append(node.name)
            inner = node.body if isinstance(node, ast.ClassDef) else []
        elif isinstance(node, ast.Assign):
            found += [t.id for t in node.targets if isinstance(t, ast.Name)]
        elif (
            isinstance(node, ast.AnnAssign)
            and node.value is not None
            and isinstance(node.target, ast.Name)
        ):
            found.append(node.target.id)
        elif isinstance(node, (ast.ImportFrom, ast.Import)):
            imported += [a.asname or a.name for a in node.names]
        elif isinstance(node, (ast.If, ast.Try)):
            inner = node.body
        if inner and depth < 3:
            more = _names(inner, depth + 1)
            found += more[0]
            imported += more[1]
    return found, imported


# A program shows what it is at its head.
_MARK_CHARS = 200_000
_C = (
    r"^\s{0,4}\#\s{0,4}(?: include | define | pragma )\b",
    r"\b(?: int | auto | void | signed )\s+main\s{0,4}\(",
)
_MARKS = {
    language: re.compile(" | ".join(marks), re.MULTILINE | re.VERBOSE)
    for language, marks in {
        "c": _C,
        "cpp": (
            *_C,
            r"^\s{0,8}using\s+namespace\s+\w",
            r"^\s{0,8}(?: public | private | protected )\s{0,4}:",
        ),
        "java": (
            r"^\s{0,8}import\s+(?:static\s+)?javax?\.",
            (
                r"^\s{0,8}(?:(?: public | final | abstract )\s+){0,3}"
                r"(?: class | interface | enum | record )\s+\w+[^\n;]{0,200}\{"
            ),
        ),
        "javascript": (
            r"^\s{0,8}(?: const | let | var )\s+[\w${\[]",
            r"^\s{0,8}(?:async\s+)?function\b[\s*]",
            r"^\s{0,8}import\s[^\n]{0,200}['\"]",
            r"^\s{0,8}(?: export\s | ['\"]use[ ]strict['\"] )",
            r"^\s{0,8}class\s+\w+\s{0,4}(?:extends\s+\w+\s{0,4})?\{",
            r"\bconsole\s{0,2}\.\s{0,2}log\s{0,2}\(",
            r"\bprocess\s{0,2}\.\s{0,2}std(?: in | out )\b",
            r"\brequire\s{0,2}\(",
        ),
        "go": (r"^package\s+\w+", r"^func\s+[\w(]"),
        "rust": (r"\bfn\s+main\s{0,4}\(", r"^use\s+\w+::", r"^\s{0,8}(?:pub\s+)?(?:fn|impl)\s+\w"),
        "csharp": (r"^\s{0,8}using\s+System\b", r"\bstatic\s+(?: void | int )\s+Main\b"),
        "kotlin": (r"\bfun\s+main\s{0,4}\(",),
        "scala": (r"^\s{0,8}object\s+\w+",),
        "ruby": (r"\bgets\b", r"\bputs\b", r"\bSTDIN\b"),
        "php": (r"<\?php",),
        "perl": (r"<STDIN>", r"^use\s+(?: strict | warnings )", r"\bmy\s+[$@%]"),
        "lua": (r"\bio\.read\b", r"^local\s", r"\bprint\s{0,2}\("),
        "bash": (r"^\#!", r"^\s{0,8}read\s", r"^\s{0,8}(?: echo | printf )\s", r";\s{0,4}do\b"),
        "sql": (r"^\s{0,8}(?: SELECT | WITH | CREATE | INSERT | select | with | create )\s",),
        "r": (r"<-", r"\breadLines\b", r"\bscan\s{0,2}\("),
        "haskell": (r"^main\s{0,4}(?: :: | = )", r"^import\s+(?:qualified\s+)?[A-Z]"),
        "ocaml": (r"^\s{0,8}let\s", r"^open\s+[A-Z]"),
        "racket": (r"^\#lang\s",),
        "d": (r"^import\s+(?: std | core )\.", r"\b(?: void | int )\s+main\s{0,4}\("),
        "pascal": (r"^\s{0,8}(?: program\s+\w | begin\b | uses\s | var\b )",),
        "fortran": (r"^\s{0,8}program\s+\w", r"^\s{0,8}end\s+program\b"),
        "verilog": (r"^\s{0,8}module\s+\w",),
    }.items()
}
_MARKS["typescript"] = _MARKS["javascript"]
# A bare text in one of these languages begins with code, not with prose that mentions code.
_C_STARTS = (
    r"\# | // | /\* | (?: using | namespace | template | struct | class | enum | union )\b",
    r"(?: const | constexpr | static | inline | typedef | extern )\b",
    r"(?: int | long | void | auto | bool | double | signed | unsigned )\b[^\n.]{0,200}[;({=]",
)
_STARTS = {
    language: re.compile(rf"\s{{0,100}}(?: {' | '.join(starts)} )", re.VERBOSE)
    for language, starts in {
        "c": _C_STARTS,
        "cpp": _C_STARTS,
        "java": (
            r"// | /\* | @\w | (?: import | package | public | final | abstract )\b",
            r"(?: class | interface | enum | record | sealed )\b",
        ),
        "javascript": (
            r"\#! | // | /\* | ['\"]use[ ]strict | \(",
            r"(?: const | let | var | function | async | import | export | class )\b",
            r"[\w$.]{1,80}\s{0,4}[=(]",
        ),
    }.items()
}


def starts_as(language: str, text: str) -> bool:
    """The first thing in the text could begin a program of this language."""
    pattern = _STARTS.get(language)
    return pattern is None or pattern.match(text) is not None


def guess_language(checker: Checker, text: str) -> str | None:
    """The language of an untagged program, where nobody said which is wanted."""
    for language in ("cpp", "java"):
        if checker.is_program(language, text):
            return language
    if checker.is_program("python", text):
        return "python"
    return "javascript" if checker.is_program("javascript", text) else None


def drop_tag_line(language: str, text: str) -> str:
    """Without a first line that is only the language's name: what remains of a prefilled fence."""
    first, newline, rest = text.lstrip("\n").partition("\n")
    if newline and first.strip() and written_as(first.strip()) == language:
        return rest
    return text
