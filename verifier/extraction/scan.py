r"""One pass over a response: where the reasoning ends, and which fenced blocks come after it.

Both have to be found together. A draft inside the reasoning may open a fence that it never closes,
and a program inside a fence may print `</think>`: the meaning of either depends on the other.

Fences follow CommonMark 0.31 (section 4.5) - three or more backticks or tildes, a closer at least
as long, the rest of the text where no closer comes - with what models do besides:

- a fence at any indentation, in a list item or a quotation; its lines are dedented by as much;
- a closer glued to a special token (```` ```<|im_end|> ````), or followed by prose;
- an opener at the end of a line of prose, a closer at the end of the last line of code;
- a forgotten closer: a fence with a language tag inside a block of code ends it and begins the next
  one.

Reasoning tags count outside of blocks, and not where they are quoted. One inside a block counts if
the block is a draft that was never closed: the tag has its line for itself and is in no string of
several lines (no program looks so), or another tagged fence follows before a closer.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from verifier.extraction.tags import MARKDOWN_TAGS, OTHER_TAGS, is_known, tag_of

# More fences or tags than any real response has; beyond, the response is junk and is not read
# further.
MAX_EVENTS = 50_000

_NAMES = (
    "think|thinking|thought|thoughts|reasoning|reason|reflection|reflect|scratchpad|analysis"
    "|monologue|inner_monologue|inner_thoughts|internal_thoughts|chain_of_thought|cot|rationale"
    "|antthinking|seed:think"
)
_TAG = re.compile(
    rf"<(?=[/\sa-z])(?P<slash>/?)\s{{0,4}}(?:{_NAMES})(?:\s[^<>\n]{{0,80}})?\s{{0,4}}/?>"
    r"|<\|(?=[besc])(?:(?P<end>end)|begin|start)_of_(?:thought|thinking|reasoning|think)\|>"
    r"|<\|channel\|>\s?(?:analysis|(?P<final>final))\s?(?:<\|constrain\|>\w{0,20})?<\|message\|>",
    re.IGNORECASE,
)
_OTHER_TAG = re.compile(r"\[(?P<slash>/?)THINK\]|◁(?P<kimi>/?)think▷")
_FENCE = re.compile(
    r"^(?P<prefix>[ \t]*(?:(?:>[ \t]*|[-*+][ \t]+|\d{1,9}[.)][ \t]+)){0,4})"
    r"(?P<run>`{3,}|~{3,})(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
# A fence that ends a line of prose or of code.
_GLUED = re.compile(
    r"(?:(?<=[^\s`~])[ \t]{0,8}|(?<=`)[ \t]{1,8})(?P<run>`{3,})"
    r"(?P<rest>[ \t]{0,8}[A-Za-z][\w+#.-]{0,30}|)[ \t\r]{0,8}$",
    re.MULTILINE,
)
# DeepSeek's special tokens have the full-width bar.
BAR = r"|\uff5c"
_SPECIAL = re.compile(
    rf"\s{{0,4}}(?:<[{BAR}/]?[^\s<>]{{1,40}}[{BAR}]?>|\[/?[A-Z_]{{1,20}}\]|</?\w{{1,20}}>)"
)
_QUOTES = "\"'`"
_MULTILINE = ('"""', "'''", "`", "/*", "*/", 'R"(', ')"')
_QUOTE_MARK = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        info: The info string.
        tag: Its language word (see `tag_of`).
        body: The text between the fences, dedented.
        closed: There was a closing fence.
        start: Offset of the opening line.
        end: Offset after the closing line.
    """

    info: str
    tag: str
    body: str
    closed: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scan:
    """What one pass found.

    Attributes:
        cut: Offset where the answer begins.
        in_reasoning: The reasoning never ended: there is no answer.
        overflow: There were more fences or tags than `MAX_EVENTS`; nothing else is meaningful.
        blocks: Top-level blocks of the answer, in order.
    """

    cut: int = 0
    in_reasoning: bool = False
    overflow: bool = False
    blocks: tuple[Block, ...] = ()


@dataclass(slots=True)
class _Open:
    """A block whose closer has not come yet."""

    run: str
    prefix: str
    info: str
    tag: str
    start: int
    body: int
    glued_end: tuple[int, int] | None = None
    tags_inside: list[int] = field(default_factory=list)
    seen: int = 0
    quotes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_MULTILINE, 0))

    def in_string(self, text: str, offset: int) -> bool:
        """A string or comment of several lines surrounds `offset` (which must not decrease)."""
        start, self.seen = max(self.seen, self.body), offset
        for mark in self.quotes:
            self.quotes[mark] += text.count(mark, start, offset)
        n = self.quotes
        return bool(
            n['"""'] % 2 or n["'''"] % 2 or n["`"] % 2 or n["/*"] > n["*/"] or n['R"('] > n[')"']
        )


def scan(text: str) -> Scan:
    """Find the end of the reasoning and the blocks after it. Lines of `text` end in LF."""
    events = list(islice(_events(text), MAX_EVENTS + 1))
    if len(events) > MAX_EVENTS:
        return Scan(overflow=True)
    return _Scanner(text).run(events)


def _events(text: str) -> Iterator[tuple[int, int, re.Match[str]]]:
    """(offset, kind, match) of all fences and tags, in order. Kinds: see `_Scanner.run`."""
    streams: list[Iterator[tuple[int, int, re.Match[str]]]] = [
        ((m.start(), 2, m) for m in _TAG.finditer(text))
    ]
    if "```" in text or "~~~" in text:
        streams.append((m.start(), 0, m) for m in _FENCE.finditer(text))
        streams.append((m.start(), 1, m) for m in _GLUED.finditer(text))
    if "THINK]" in text or "think▷" in text:
        streams.append((m.start(), 2, m) for m in _OTHER_TAG.finditer(text))
    return heapq.merge(*streams, key=lambda event: event[:2])


class _Scanner:
    """The state: in reasoning, in a block, or in neither."""

    __slots__ = ("blocks", "cut", "done", "open", "reasoning", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.cut = 0
        self.reasoning = False
        self.open: _Open | None = None
        self.blocks: list[Block] = []
        self.done = 0  # the end of the last line that was read as a fence

    def run(self, events: list[tuple[int, int, re.Match[str]]]) -> Scan:
        closers = [m.end() for _, kind, m in events if kind == 2 and _is_closer(m)]
        last_closer = closers[-1] if closers else 0
        for _, kind, match in events:
            if match.start() < self.cut:
                continue
            if kind == 2:
                self._on_tag(match, last_closer)
            elif self.reasoning:
                continue
            elif kind == 0:
                self._on_fence(match)
            else:
                self._on_glued_fence(match)
        self._at_end()
        return Scan(self.cut, self.reasoning, overflow=False, blocks=tuple(self.blocks))

    # -- reasoning tags

    def _on_tag(self, match: re.Match[str], last_closer: int) -> None:
        quoted = _is_quoted(self.text, match)
        if self.open is not None:
            if not _is_closer(match) or quoted:
                return
            sample = self.open.tag in OTHER_TAGS  # an output may consist of the tag
            in_string = self.open.in_string(self.text, match.start())
            if _stands_alone(self.text, match) and not (sample or in_string):
                self._cut_at(match.end())
            else:
                self.open.tags_inside.append(match.end())
        elif _is_closer(match):
            # Inside the reasoning, a quoted tag ends it only if no other one does.
            if not quoted or (self.reasoning and match.end() == last_closer):
                self._cut_at(match.end())
        elif not quoted:
            self.reasoning = True

    def _cut_at(self, end: int) -> None:
        self.cut = self.done = end  # a fence may follow in the same line
        self.reasoning = False
        self.open = None
        self.blocks.clear()

    # -- fences

    def _on_fence(self, match: re.Match[str]) -> None:
        run, rest = match["run"], match["rest"]
        self.done = match.end()
        if self.open is None:
            self._open_block(match, match["prefix"])
            return
        same = run[0] == self.open.run[0] and len(run) >= len(self.open.run)
        if same and self._may_close(match):
            special = _SPECIAL.match(rest)
            if not rest.strip() or special or _is_prose(rest):
                self._close_block(match.start(), match.start("rest") if special else match.end())
                return
        if (
            len(run) >= len(self.open.run)
            and is_known(tag_of(rest))
            and self.open.tag not in MARKDOWN_TAGS
        ):
            self._next_block(match, match["prefix"])

    def _may_close(self, match: re.Match[str]) -> bool:
        """Not a fence in the program's own text: of an example in a docstring, say."""
        opened = self.open
        if opened is None or _width(match["prefix"]) <= _width(opened.prefix) + 3:
            return True
        outside = opened.tag not in MARKDOWN_TAGS and not opened.in_string(self.text, match.start())
        return outside and not match["rest"].strip() and not match["prefix"].strip()

    def _on_glued_fence(self, match: re.Match[str]) -> None:
        rest = match["rest"].strip()
        if match.start() < self.done:
            return
        if self.open is None:
            before = self.text[
                max(self.cut, self.text.rfind("\n", 0, match.start()) + 1) : match.start()
            ]
            # An odd number of them: what follows is inside of inline code.
            quoted = before.count("`") % 2 == 1
            if not quoted and (is_known(tag_of(rest)) if rest else before.endswith(":")):
                self._open_block(match, "")
        elif len(match["run"]) < len(self.open.run) or self.open.run[0] != "`":
            return
        elif not rest:
            if self.open.glued_end is None:
                self.open.glued_end = (match.start(), match.end())
        elif is_known(tag_of(rest)) and self.open.glued_end is not None:
            self._next_block(match, "")

    def _open_block(self, match: re.Match[str], prefix: str) -> None:
        rest = match["rest"]
        if match["run"][0] == "`" and "`" in rest:
            return  # inline code
        info = "" if _SPECIAL.match(rest) else rest.strip()
        self.open = _Open(match["run"], prefix, info, tag_of(info), match.start(), match.end() + 1)

    def _next_block(self, match: re.Match[str], prefix: str) -> None:
        """The block was never closed, and the next one begins here."""
        if self.open is not None and self.open.tags_inside:
            self._cut_at(self.open.tags_inside[-1])
        else:
            self._close_block(match.start(), match.start(), closed=False)
        self._open_block(match, prefix)

    def _close_block(self, body_end: int, end: int, *, closed: bool = True) -> None:
        opened = self.open
        if opened is None:
            return
        if not closed and opened.glued_end is not None:
            body_end, end = opened.glued_end
            closed = True
        body = self.text[opened.body : body_end]
        self.open = None
        self.blocks.append(
            Block(
                opened.info, opened.tag, _dedented(body, opened.prefix), closed, opened.start, end
            )
        )

    def _at_end(self) -> None:
        if self.open is not None:
            self._close_block(len(self.text), len(self.text), closed=False)


def _is_closer(match: re.Match[str]) -> bool:
    return any(match.groupdict().values())


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """In quotation marks or backticks, or grown together with a word (`vector<thought>`)."""
    before = text[match.start() - 1 : match.start()]
    after = text[match.end() : match.end() + 1]
    fenced = text.endswith("```", 0, match.start())  # the closer of a draft's block
    return (
        (before != "" and not fenced and (before in _QUOTES or before == "\\"))
        or (after != "" and after in _QUOTES and not text.startswith("```", match.end()))
        or (not _is_closer(match) and (before.isalnum() or before == "_"))
    )


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    """The tag has its line for itself. Looks back no further than a blank line end would be."""
    line_start = text.rfind("\n", max(0, match.start() - 80), match.start()) + 1
    if line_start == 0 and match.start() > 80:
        return False
    return not text[line_start : match.start()].strip() and text[match.end() : match.end() + 1] in (
        "",
        "\n",
    )


def _is_prose(rest: str) -> bool:
    """A closer with a remark behind it: a blank, then words, the first of which is no tag."""
    return (
        rest[:1] in " \t"
        and len(rest.split(maxsplit=2)) > 1
        and "=" not in rest
        and not is_known(tag_of(rest))
    )


def _width(prefix: str) -> int:
    return len(prefix.expandtabs(4))


def _dedented(body: str, prefix: str) -> str:
    """Take the opener's indentation (or quotation marks) off each line, as CommonMark does."""
    if not prefix:
        return body
    if ">" in prefix:
        return _QUOTE_MARK.sub("", body)
    return re.sub(rf"^[ \t]{{1,{len(prefix)}}}", "", body, flags=re.MULTILINE)
