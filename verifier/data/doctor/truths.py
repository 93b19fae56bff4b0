"""Who scores a row, and whether its ground truth can be used by them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from verifier.data.doctor.finding import Finding, quoted
from verifier.data.doctor.subject import Subject
from verifier.errors import RequestError, SuiteError
from verifier.scoring import find_scorer
from verifier.testcases import has_known_shape, load_suite
from verifier.types import Suite

__all__ = ["Truth", "examine_truth"]

_UNDECODABLE = re.compile(
    r"not JSON|not UTF-8|base64|zlib|pickle|decompressed|nested|JSON text inside"
)
_MISMATCHED = re.compile(r"\d+ \w+ for \d+ \w+")
_EMPTY = re.compile(r"(^|: )(empty|no cases.*)$")


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of a row's ground truth; `suite` None: it has none, or an unusable one."""

    findings: tuple[Finding, ...]
    suite: Suite | None = None


def examine_truth(subject: Subject, own: Collection[str] = ()) -> Truth:
    """Where the row is routed, and what is there for the scorer.

    Args:
        subject: The row.
        own: Data sources that the user has a scorer of their own for.
    """
    source, truth = subject.data_source, subject.truth
    routed: list[Finding] = []
    code = True
    if isinstance(source, str) and source in own:
        code = isinstance(truth, Mapping) and has_known_shape(truth)
    else:
        try:
            code = find_scorer(source) is find_scorer("codecontests")
        except RequestError as error:
            routed.append(_found(subject, "no-route", error.problem))
    if truth is None:
        return Truth((*routed, _found(subject, "missing-ground-truth", "there is none")))
    if not code:
        return Truth((*routed, *_answer(subject, truth)))
    if isinstance(truth, (str, list, tuple, Mapping)) and not truth:
        return Truth((*routed, _found(subject, "empty-ground-truth", f"it is {truth!r}")))
    try:
        suite = load_suite(truth)
    except SuiteError as error:
        return Truth((*routed, _found(subject, _kind(error), str(error))))
    return Truth(tuple(routed), suite)


def _kind(error: SuiteError) -> str:
    problem = error.problem
    if _EMPTY.search(problem):
        return "empty-ground-truth"
    if _MISMATCHED.search(problem):
        return "mismatched-ground-truth"
    if _UNDECODABLE.search(problem):
        return "undecodable-ground-truth"
    return "bad-ground-truth"


def _answer(subject: Subject, truth: object) -> list[Finding]:
    """A ground truth of a source whose answers are compared."""
    if isinstance(truth, Mapping) and has_known_shape(truth):
        reason = f"tests, but {subject.data_source!r} is scored by comparing answers"
        return [_found(subject, "mismatched-ground-truth", reason)]
    if isinstance(truth, (str, list, tuple, Mapping)) and (
        not truth or (isinstance(truth, str) and not truth.strip())
    ):
        return [_found(subject, "empty-ground-truth", f"it is {truth!r}")]
    if subject.data_source == "openai/gsm8k" and isinstance(truth, str) and "####" in truth:
        reason = f"the scorer compares with all of {quoted(truth)}: keep what follows ####"
        return [_found(subject, "mismatched-ground-truth", reason)]
    return []


def _found(subject: Subject, name: str, reason: str) -> Finding:
    return Finding(name, subject.index, subject.id, reason)
