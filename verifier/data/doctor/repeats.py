"""Rows that are there more than once.

Equal rows are found by a digest of what is left when case and white space are taken from the
prompt. Similar prompts are found by shingles of words: each prompt gets a sketch, the least hash in
each of 64 buckets (one permutation hashing: Li, Owen, Zhang, NIPS 2012); prompts that agree in all
four buckets of one of 16 bands are compared in full. Two that are 0.8 alike are missed once in
5,000. Shingles that many prompts have in common are a template's, and are left out.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from verifier.data.doctor.finding import Finding
from verifier.data.doctor.subject import Subject
from verifier.types import Suite

__all__ = ["Repeats"]

_SHINGLE_WORDS = 4
_BUCKETS = 64
_ROWS = 4
_ALIKE = 0.8
# A shingle of so many prompts is a template's, or a phrase that everybody uses.
_TEMPLATE_PROMPTS = 8
# What is left of a prompt without its template has to say something.
_MIN_SHINGLES = 8
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Prompt:
    index: int
    id: str
    problem: str
    shingles: array[int]
    suite: str
    has_responses: bool


class Repeats:
    """Sees every row once, then tells. Memory: eight bytes for each word of the prompts."""

    def __init__(self) -> None:
        """Nothing is seen yet."""
        self._findings: list[Finding] = []
        self._ids: dict[str, tuple[int, str]] = {}
        self._sampled: set[str] = set()
        self._rows: dict[bytes, tuple[str, str]] = {}
        self._tests: dict[str, tuple[str, str, str]] = {}
        self._prompts: list[_Prompt] = []

    def add(self, subject: Subject, suite: Suite | None) -> None:
        """See a row; of samples that share a problem the first one alone."""
        if subject.sample:
            if subject.problem in self._sampled:
                return
            self._sampled.add(subject.problem)
        if subject.named:
            place = f"line {subject.record.line}"
            index, first = self._ids.setdefault(subject.id, (subject.index, place))
            if index != subject.index:  # two files may have it in the same line
                self._found("duplicate-id", subject, f"{first} has this id too")
        prompt = " ".join(_WORD.findall(subject.prompt.casefold()))
        if not prompt and suite is None:
            return
        digest = _digest(subject, suite, prompt)
        first_id, problem = self._rows.setdefault(digest, (subject.id, str(subject.index)))
        if problem != str(subject.index):
            self._found("duplicate", subject, f"the same row as {first_id}", first_id)
            return
        if suite is not None and prompt:
            seen = self._tests.setdefault(suite.digest, (subject.id, subject.problem, prompt))
            if seen[2] != prompt and seen[1] != subject.problem:
                reason = f"the prompt is another, the tests are those of {seen[0]}"
                self._found("same-tests", subject, reason, seen[0])
        if prompt:
            self._prompts.append(
                _Prompt(
                    subject.index,
                    subject.id,
                    subject.problem,
                    _shingles(prompt),
                    "" if suite is None else suite.digest,
                    bool(subject.responses),
                )
            )

    def findings(self) -> list[Finding]:
        """All of them; near-duplicates need to have seen every row."""
        return [*self._findings, *self._near()]

    def _found(self, name: str, subject: Subject, reason: str, *related: str) -> None:
        self._findings.append(Finding(name, subject.index, subject.id, reason, related))

    def _near(self) -> Iterator[Finding]:
        counts = Counter(h for prompt in self._prompts for h in prompt.shingles)
        bands: dict[tuple[int, ...], list[int]] = defaultdict(list)
        own: list[frozenset[int]] = []
        for number, prompt in enumerate(self._prompts):
            kept = frozenset(h for h in prompt.shingles if counts[h] < _TEMPLATE_PROMPTS)
            own.append(kept)
            if len(kept) < _MIN_SHINGLES:
                continue
            keys = list(_bands(kept))
            near = {other for key in keys for other in bands[key]}
            best = max(
                ((_alike(kept, own[o]), -o) for o in near if self._two(prompt, o)), default=None
            )
            if best is not None and best[0] >= _ALIKE:
                other = self._prompts[-best[1]]
                reason = f"{best[0]:.0%} of its prompt is that of {other.id}"
                yield Finding("near-duplicate", prompt.index, prompt.id, reason, (other.id,))
            for key in keys:
                bands[key].append(number)

    def _two(self, prompt: _Prompt, other: int) -> bool:
        """Whether they are two problems rather than samples of one."""
        there = self._prompts[other]
        samples = prompt.has_responses and prompt.suite == there.suite
        return prompt.problem != there.problem and not samples


def _digest(subject: Subject, suite: Suite | None, prompt: str) -> bytes:
    if suite is not None:
        truth = suite.digest
    else:
        truth = json.dumps(subject.truth, sort_keys=True, default=str)
    parts = (prompt, truth, *subject.responses)
    return blake2b("\0".join(parts).encode("utf-8", "backslashreplace"), digest_size=16).digest()


def _shingles(prompt: str) -> array[int]:
    words = prompt.split()
    count = max(1, len(words) - _SHINGLE_WORDS + 1)
    texts = {" ".join(words[at : at + _SHINGLE_WORDS]) for at in range(count)}
    hashes = (blake2b(t.encode("utf-8", "replace"), digest_size=8).digest() for t in texts)
    return array("Q", (int.from_bytes(h, "little") for h in hashes))


def _bands(shingles: frozenset[int]) -> Iterator[tuple[int, ...]]:
    least: list[int] = [-1] * _BUCKETS
    for value in shingles:
        bucket = value % _BUCKETS
        if least[bucket] < 0 or value < least[bucket]:
            least[bucket] = value
    for band in range(0, _BUCKETS, _ROWS):
        values = least[band : band + _ROWS]
        if any(value >= 0 for value in values):
            yield (band, *values)


def _alike(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / len(one | other)
