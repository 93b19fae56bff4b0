"""Which of the candidates is the program.

In this order, and among equals the last one (or the first, or the longest, as the policy says):

1. what parses and defines the entry point: a block with a fitting tag, then an untagged one;
2. what parses: a block with a fitting tag, then an untagged one that is more than a sample output;
3. a program around which only the closing fence is left (the prompt opened it), or with no fence at
   all;
4. a fitting block inside a block of Markdown;
5. what does not parse: a fitting block, then an untagged one. It becomes a COMPILE_ERROR: the
   model's failure, and the score says so.

Blocks in other languages, and of text, output or data, never count.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from verifier.extraction.check import Checker, drop_tag_line, guess_language, starts_as
from verifier.extraction.scan import BAR, Block, scan
from verifier.extraction.tags import MARKDOWN_TAGS, OTHER_TAGS, is_known, language_of
from verifier.languages import RECIPES

# The entry point of a whole program, where the language has one.
_MAIN = {"c": "main", "cpp": "main", "java": "main"}
# A tag that fits, but less than the language's own: models tag C++ with ```c.
_LOOSE = {"cpp": ("c",), "typescript": ("javascript",)}
# Where nobody said which language is wanted, and an answer has blocks in one of these and in
# others, the others show how it is done elsewhere.
_USUAL = frozenset({"python", "cpp", "c", "java", "javascript"})
_TRIMS = 8
_HEAD_TOKEN = re.compile(
    rf"\s{{0,100}}(?:<[{BAR}]?/?[\w{BAR}\u2581:-]{{1,40}}[{BAR}]?>|\[[A-Z_]{{2,20}}\](?=\s)"
    r"|`{3,10}(?:[ \t]{0,4}(?P<tag>[A-Za-z][\w+#]{0,12})\s)?)"
)
_TAIL_TOKEN = re.compile(
    rf"(?:<[{BAR}/]?[\w{BAR}\u2581:-]{{1,40}}[{BAR}]?>|\[/?[A-Z_]{{1,20}}\]|`{{3,10}}|~{{3,10}})$"
)
_TAIL_CHARS = 64
# What ends a generation inside of a block. No language has any of these at the end of a program.
_END_TOKEN = re.compile(
    rf"(?:<[{BAR}][\w{BAR}\u2581:-]{{1,40}}[{BAR}]>|</s>|<eos>|<end_of_turn>|\[/INST\])\Z"
)


# A longer text than this is no fragment between two paragraphs.
MAX_FRAGMENT_CHARS = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen text. `block` is None for bare code."""

    language: str
    text: str
    block: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    index: int
    language: str
    text: str
    tagged: bool
    loose: bool
    parses: bool
    acts: bool = True  # False: it parses and does nothing, as the `a + b` of an explanation

    @property
    def tier(self) -> int:
        """0: its tag fits; 1: its tag nearly fits; 2: it has none."""
        return 2 if not self.tagged else int(self.loose)


class Chooser:
    """Applies the rules of this module to one response."""

    def __init__(self, language: str | None, entry_point: str | None, policy: str) -> None:
        """`language` is canonical or None; `policy` is "last", "first" or "longest"."""
        self._language = language
        self._entry_point = (entry_point or "").split(".")[-1].removesuffix("()")
        self._policy = policy
        self._checker = Checker()

    def choose(self, text: str, blocks: tuple[Block, ...], cut: int) -> Choice | None:
        """The program of an answer (`text[cut:]` with its blocks), or None."""
        if blocks and not blocks[-1].closed:
            last = dataclasses.replace(blocks[-1], body=_before_end_tokens(blocks[-1].body))
            blocks = (*blocks[:-1], last)
        candidates = self._in_order(
            [c for c in (self._candidate(i, b) for i, b in self._ordered(blocks)) if c is not None]
        )
        good = [c for c in candidates if c.parses]
        if self._language is None:
            good = [c for c in good if c.language in _USUAL] or good
        return (
            self._defining(good)
            or self._parsing(good)
            or self._bare(text, blocks, cut)
            or self._nested(blocks)
            or self._broken([c for c in candidates if not c.parses])
        )

    # -- candidates

    def _ordered(self, blocks: tuple[Block, ...]) -> Iterable[tuple[int, Block]]:
        """The most wanted first, so that the parser's budget goes to the likely ones."""
        pairs = list(enumerate(blocks))
        return pairs if self._policy == "first" else reversed(pairs)

    def _in_order(self, candidates: list[_Candidate]) -> list[_Candidate]:
        if self._policy == "longest":
            return sorted(candidates, key=lambda c: len(c.text), reverse=True)
        return candidates

    def _candidate(self, index: int, block: Block) -> _Candidate | None:
        if not block.body.strip() and not block.info:
            return None
        language = language_of(block.tag) if block.tag else None
        if language is None and is_known(block.tag):
            return None
        if language is None:
            return self._untagged(index, block)
        if self._language is None and not RECIPES[language].by_tag:
            return None
        wanted = self._language or language
        loose = language != wanted
        if (loose and language not in _LOOSE.get(wanted, ())) or not block.body.strip():
            return None
        return self._made(index, wanted, block.body, tagged=True, loose=loose)

    def _untagged(self, index: int, block: Block) -> _Candidate | None:
        text = block.body
        language = self._language or guess_language(self._checker, text)
        if (
            block.info
            and not block.info.startswith("{")
            and len(block.info.split(maxsplit=1)) + ("(" in block.info) > 1
        ):
            # The first line of code on the fence's line.
            joined = f"{block.info}\n{text}"
            joined_language = self._language or guess_language(self._checker, joined)
            if joined_language and self._checker.is_program(joined_language, joined):
                language, text = joined_language, joined
        if not text.strip():
            return None
        language = language or "python"
        text = drop_tag_line(language, text)
        return self._made(index, language, text, tagged=False, loose=False)

    def _made(
        self, index: int, language: str, text: str, *, tagged: bool, loose: bool
    ) -> _Candidate:
        if language == "python":
            python = self._checker.python(text)
            parses = python.parses and not python.empty and (tagged or python.is_program)
            text = python.source
            # Too large to be looked at is large enough to be a program.
            acts = python.is_program or len(text) > MAX_FRAGMENT_CHARS
        else:
            parses = acts = tagged or self._checker.is_program(language, text)
        return _Candidate(index, language, text, tagged, loose, parses, acts)

    # -- rules

    def _defining(self, candidates: list[_Candidate]) -> Choice | None:
        def defines(candidate: _Candidate) -> bool:
            name = self._entry_point or _MAIN.get(candidate.language, "")
            return bool(name) and self._checker.defines(candidate.language, candidate.text, name)

        def imports_alone(candidate: _Candidate) -> bool:
            return self._checker.imports_alone(
                candidate.language, candidate.text, self._entry_point
            )

        # A demonstration has `from solution import f`; `from math import gcd` may be all there is.
        own = [c for c in candidates if not imports_alone(c)]
        name = self._entry_point or "main"
        return self._first(own, defines, f"that defines {name}") or self._first(
            candidates, defines, f"that defines {name}"
        )

    def _parsing(self, candidates: list[_Candidate]) -> Choice | None:
        return self._first(candidates, lambda c: c.acts, "") or self._first(
            candidates, lambda _: True, ""
        )

    def _broken(self, candidates: list[_Candidate]) -> Choice | None:
        def is_attempt(candidate: _Candidate) -> bool:
            if candidate.tagged or candidate.language != "python":
                return True
            return not self._checker.python(
                candidate.text
            ).parses  # "5" parses: a sample output, not an attempt

        return self._first(candidates, is_attempt, "(none parses)")

    def _first(
        self, candidates: list[_Candidate], accept: Callable[[_Candidate], bool], why: str
    ) -> Choice | None:
        for tier in range(3):
            for c in candidates:
                if c.tier == tier and accept(c):
                    kind = f"{c.language} block" if c.tagged else "untagged block"
                    reason = f"the {self._policy} {kind} {why}".rstrip()
                    return Choice(c.language, c.text, c.index, reason)
        return None

    def _bare(self, text: str, blocks: tuple[Block, ...], cut: int) -> Choice | None:
        """The text before a lone closer, or all of it where there is no fence."""
        if blocks and (blocks[0].info or blocks[0].start <= cut):
            return None
        code = _trimmed(text[cut : blocks[0].start] if blocks else text[cut:])
        if not code.strip():
            return None
        language = self._language or guess_language(self._checker, code)
        if language is None:
            return None
        code = drop_tag_line(language, code)
        if not (self._checker.is_program(language, code) and starts_as(language, code)):
            return None
        if language == "python":
            code = self._checker.python(code).source
        reason = (
            "the code before a lone closing fence" if blocks else "no fence; the text is a program"
        )
        return Choice(language, code, None, reason)

    def _nested(self, blocks: tuple[Block, ...]) -> Choice | None:
        for index, block in self._ordered(blocks):
            if block.tag in MARKDOWN_TAGS or block.tag == "":
                inner = scan(block.body).blocks
                found = [
                    c
                    for c in (self._candidate(i, b) for i, b in self._ordered(inner))
                    if c is not None
                ]
                choice = self._first(
                    [c for c in found if c.parses and c.tagged], lambda _: True, ""
                )
                if choice is not None:
                    return Choice(
                        choice.language,
                        choice.text,
                        index,
                        f"{choice.reason} inside a Markdown block",
                    )
        return None


def explain_none(blocks: tuple[Block, ...], language: str | None) -> str:
    """Why nothing was chosen."""
    if not blocks:
        return "no fenced block, and the text is not a program"
    tags = list(dict.fromkeys(b.tag for b in blocks if b.tag in OTHER_TAGS or language_of(b.tag)))[
        :5
    ]
    wanted = language or "known"
    if tags:
        return f"no {wanted} block among {len(blocks)} (tagged {', '.join(tags)})"
    return f"no {wanted} program in any of {len(blocks)} blocks"


def _trimmed(text: str) -> str:
    """Without special tokens, answer tags and stray fences around it (a few, no more)."""
    for _ in range(_TRIMS):
        head = _HEAD_TOKEN.match(text)
        if head is None:
            break
        is_code = head["tag"] and language_of(head["tag"].lower()) is None
        text = text[head.start("tag") if is_code else head.end() :]
    for _ in range(_TRIMS):
        text = text.rstrip()
        tail = _TAIL_TOKEN.search(text[-_TAIL_CHARS:])
        if tail is None:
            break
        text = text[: len(text) - (min(len(text), _TAIL_CHARS) - tail.start())]
    return text


def _before_end_tokens(code: str) -> str:
    """Without the special tokens that a generation ended with, however many pad it."""
    end = len(code)
    while True:
        kept = code[max(end - _TAIL_CHARS, 0) : end].rstrip()
        found = _END_TOKEN.search(kept)
        if found is None:
            return code[:end]
        end = max(end - _TAIL_CHARS, 0) + found.start()
