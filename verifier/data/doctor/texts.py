"""Prompts that give the tests away, and responses that cannot be right."""

from __future__ import annotations

import re

from verifier.data.doctor.finding import Finding, quoted
from verifier.data.doctor.subject import Subject
from verifier.errors import RequestError
from verifier.extraction import extract
from verifier.types import Suite, SuiteKind

__all__ = ["examine_prompt", "examine_responses"]

_CUT = ("length", "max_tokens", "max_length", "model_length")
# A case stands in a prompt when its answer follows its input so closely.
_NEAR_CHARS = 300
# Shorter ones stand in many prompts by chance.
_MIN_CASE_CHARS = 4
_MIN_SOLUTION_CHARS = 40
# Of a suite's cases; one or two samples of many tests are what prompts are made of.
_REVEALED_SHARE = 0.5
# Cases that are looked for: more do not change the answer.
_LOOKED_AT = 50


def examine_prompt(subject: Subject, suite: Suite) -> list[Finding]:
    """Whether the prompt reveals what is tested."""
    prompt = f" {' '.join(subject.prompt.split())} "
    if prompt.isspace():
        return []
    found = []
    cases = suite.cases[:_LOOKED_AT]
    shown = sum(
        _stands_in(prompt, suite.kind, case.stdin, case.expected, case.test) for case in cases
    )
    if shown and shown >= _REVEALED_SHARE * len(cases):
        reason = f"{shown} of {len(cases)} cases stand in the prompt, with their answers"
        found.append(("prompt-reveals-tests", reason))
    for reference in subject.references:
        source = " ".join(reference.source.split())
        if len(source) >= _MIN_SOLUTION_CHARS and source in prompt:
            found.append(("prompt-reveals-solution", f"it holds {quoted(source)}"))
            break
    return [Finding(name, subject.index, subject.id, reason) for name, reason in found]


def examine_responses(
    subject: Subject, suite: Suite | None, max_tokens: int | None
) -> list[Finding]:
    """Responses that were cut off, or hold no program. A cut one is not searched for code."""
    cut: list[str] = []
    without: list[str] = []
    for number, response in enumerate(subject.responses):
        finish = subject.finish[number] if number < len(subject.finish) else ""
        tokens = subject.tokens[number] if number < len(subject.tokens) else 0
        why = ""
        if finish.lower() in _CUT:
            why = f"it ended because of {finish!r}"
        elif max_tokens is not None and tokens >= max_tokens:
            why = f"it has {tokens} tokens"
        elif _open_fence(response):
            why = "its code block never ends"
        if why:
            cut.append(f"response {number}: {why}")
        elif suite is not None:
            try:
                extracted = extract(response, language=subject.language, entry_point=suite.fn_name)
            except RequestError as error:
                without.append(f"response {number}: {error.problem}")
                continue
            if extracted.program is None:
                name = "truncated" if "never ends" in extracted.extraction.reason else "no-code"
                (cut if name == "truncated" else without).append(
                    f"response {number}: {extracted.extraction.reason}"
                )
    found = []
    for name, reasons in (("truncated", cut), ("no-code", without)):
        if reasons:
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            found.append(Finding(name, subject.index, subject.id, reasons[0] + more))
    return found


def _open_fence(response: str) -> bool:
    fences = sum(line.lstrip().startswith("```") for line in response.splitlines())
    return fences % 2 == 1


def _stands_in(
    prompt: str, kind: SuiteKind, stdin: bytes, expected: bytes | None, test: str | None
) -> bool:
    if kind is SuiteKind.ASSERT:
        wanted = " ".join((test or "").split())
        return len(wanted) >= _MIN_CASE_CHARS and wanted in prompt
    given = " ".join(stdin.decode("utf-8", "replace").split())
    wanted = " ".join((expected or b"").decode("utf-8", "replace").split())
    if kind is SuiteKind.CALL:
        given = given[1:-1] if given[:1] == "[" else given
    if not given or not wanted or len(given) + len(wanted) < _MIN_CASE_CHARS:
        return False
    if given not in prompt or wanted not in prompt:  # making a pattern costs much more than this
        return False
    answer = _whole(wanted)
    return any(
        answer.search(prompt, match.end(), match.end() + _NEAR_CHARS)
        for match in _whole(given).finditer(prompt)
    )


def _whole(text: str) -> re.Pattern[str]:
    """Not as a part of a longer word or number."""
    return re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)")
