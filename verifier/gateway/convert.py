"""Requests -> tasks, and what the engine says of itself -> GetInfo.

Everything a request can get wrong by itself is found here, before anything is parsed or queued, and
named as the caller wrote it. The values' own conversion is `verifier.wire.convert`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from verifier import languages
from verifier._version import __version__
from verifier.config import Settings
from verifier.engine.budget import check_policy
from verifier.engine.checkers import check_task
from verifier.errors import RequestError
from verifier.extraction import POLICIES
from verifier.judging import COMPARATORS, SCORE_POLICIES
from verifier.limits import resolve
from verifier.sandbox.notes import host_notes
from verifier.testcases import FORMATS
from verifier.types import (
    Comparator,
    LimitOverrides,
    Limits,
    Program,
    RunTask,
    ScorePolicy,
    ScoreTask,
    Suite,
    SuiteKind,
)
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert as values

if TYPE_CHECKING:
    from verifier.engine import EngineInfo

__all__ = ["ground_truth_format", "info_to_pb", "run_task", "score_task", "versions_of"]

_MAX_ID_CHARS = 256
_MAX_EXCERPT_BYTES = 64 * 1024
_DEFAULT_EXCERPT_BYTES = 2048

# Stands in a task until the ground truth is parsed.
_NO_SUITE = Suite(SuiteKind.STDIN, ())
_NO_OVERRIDES = LimitOverrides()
_DEFAULT_POLICY = ScorePolicy()


def score_task(request: pb.ScoreRequest, *, defaults: Limits, ceilings: Limits) -> ScoreTask:
    """Everything of a score request but its suite and its deadline.

    Raises:
        RequestError: A field is wrong.
    """
    _check_ids(request.request_id, request.client_id)
    if request.WhichOneof("suite") is None:
        raise RequestError("ground_truth", "missing: set ground_truth or suite_digest")
    if request.language:
        languages.get(request.language)
    _one_of("extraction_policy", request.extraction_policy, POLICIES)
    excerpt_bytes = (
        request.excerpt_bytes if request.HasField("excerpt_bytes") else _DEFAULT_EXCERPT_BYTES
    )
    if excerpt_bytes > _MAX_EXCERPT_BYTES:
        raise RequestError(
            "excerpt_bytes", f"{excerpt_bytes} is over the ceiling of {_MAX_EXCERPT_BYTES}"
        )
    if request.HasField("deadline_s"):
        _positive("deadline_s", request.deadline_s)
    task = ScoreTask(
        response=request.response,
        suite=_NO_SUITE,
        language=request.language or None,
        limits=_limits(request, defaults, ceilings),
        comparator=_comparator(request.comparator) if request.HasField("comparator") else None,
        policy=_policy(request.score_policy)
        if request.HasField("score_policy")
        else _DEFAULT_POLICY,
        extraction_policy=request.extraction_policy or "last",
        request_id=request.request_id,
        client_id=request.client_id,
        priority=request.priority,
        excerpt_bytes=excerpt_bytes,
        checker=values.checker_from_pb(request.checker) if request.HasField("checker") else None,
        interactor=values.interactor_from_pb(request.interactor)
        if request.HasField("interactor")
        else None,
        no_cache=request.no_cache,
    )
    # The engine looks again, with the suite at hand; here a wrong field is refused early.
    check_task(task, ceilings)
    return task


def run_task(
    request: pb.RunRequest, *, defaults: Limits, ceilings: Limits, deadline_s: float | None
) -> RunTask:
    """A run request.

    Raises:
        RequestError: A field is wrong.
    """
    _check_ids(request.request_id, request.client_id)
    which = request.WhichOneof("program")
    program: Program | None = None
    argv: tuple[str, ...] = ()
    if which == "source":
        if not request.source.language:
            raise RequestError("source.language", "missing: name the language of the program")
        try:
            recipe = languages.get(request.source.language)
        except RequestError as exc:
            raise RequestError("source.language", exc.problem) from None
        program = Program(recipe.name, request.source.source)
    elif which == "argv":
        argv = tuple(request.argv.args)
        if not argv or not argv[0]:
            raise RequestError("argv.args", "empty: the first is the program")
        bad = next((i for i, arg in enumerate(argv) if "\0" in arg), None)
        if bad is not None:
            raise RequestError(f"argv.args[{bad}]", "holds a NUL")
    else:
        raise RequestError("source", "missing: set source or argv")
    return RunTask(
        program=program,
        argv=argv,
        stdin=request.stdin,
        limits=_limits(request, defaults, ceilings),
        request_id=request.request_id,
        client_id=request.client_id,
        priority=request.priority,
        deadline_s=deadline_s,
    )


def ground_truth_format(name: str) -> str:
    """A format as a request names it; empty means detection.

    Raises:
        RequestError: There is no such format.
    """
    _one_of("ground_truth_format", name, FORMATS)
    return name or "auto"


def versions_of(language: str, toolchains: Mapping[str, str]) -> dict[str, str]:
    """What made a result: our version, and the toolchain's where one ran."""
    versions = {"verifier": __version__}
    if language in toolchains:
        versions[language] = toolchains[language]
    return versions


def info_to_pb(info: EngineInfo, settings: Settings) -> pb.GetInfoResponse:
    """What this gateway is and what its sandbox guarantees."""
    return pb.GetInfoResponse(
        version=__version__,
        backend=info.backend,
        languages=[
            pb.Language(
                name=recipe.name,
                aliases=recipe.aliases,
                version=info.toolchains.get(recipe.name, ""),
                available=recipe.name in info.toolchains,
                packages=info.packages.get(recipe.name, {}),
            )
            for recipe in languages.RECIPES.values()
        ],
        default_limits=values.limits_to_pb(info.default_limits),
        max_limits=values.limits_to_pb(info.max_limits),
        guarantees=[
            pb.Guarantee(
                name=guarantee.name.value,
                holds=guarantee.holds,
                mechanism=guarantee.mechanism,
                remedy=guarantee.remedy,
                accepted=guarantee.name.value in info.accepted,
            )
            for guarantee in info.guarantees
        ],
        slots=info.slots,
        max_message_bytes=settings.max_message_bytes,
        max_cases=settings.max_cases,
        max_suite_bytes=settings.max_suite_bytes,
        max_queue=settings.max_queue,
        comparators=COMPARATORS,
        score_policies=SCORE_POLICIES,
        ground_truth_formats=FORMATS,
        extraction_policies=POLICIES,
        notes=(*info.notes, *host_notes()),
    )


def _limits(
    request: pb.ScoreRequest | pb.RunRequest, defaults: Limits, ceilings: Limits
) -> LimitOverrides:
    if not request.HasField("limits"):
        return _NO_OVERRIDES
    overrides = values.overrides_from_pb(request.limits)
    # The engine resolves again, with the suite's own limits in between; here a wrong one is refused
    # early.
    resolve(overrides, defaults=defaults, ceilings=ceilings)
    return overrides


def _comparator(message: pb.Comparator) -> Comparator:
    comparator = values.comparator_from_pb(message)
    _one_of("comparator.name", comparator.name, COMPARATORS)
    for name in ("abs_tol", "rel_tol"):
        tolerance = getattr(comparator, name)
        if not (tolerance >= 0 and math.isfinite(tolerance)):
            raise RequestError(
                f"comparator.{name}", f"must be zero or positive and finite, got {tolerance}"
            )
    return comparator


def _policy(message: pb.ScorePolicy) -> ScorePolicy:
    policy = values.policy_from_pb(message)
    _one_of("score_policy.name", policy.name, SCORE_POLICIES)
    check_policy(policy)
    return policy


def _check_ids(request_id: str, client_id: str) -> None:
    for field, value in (("request_id", request_id), ("client_id", client_id)):
        if len(value) > _MAX_ID_CHARS:
            raise RequestError(field, f"{len(value)} characters; at most {_MAX_ID_CHARS}")


def _one_of(field: str, value: str, known: tuple[str, ...]) -> None:
    if value and value not in known:
        raise RequestError(field, f"unknown {value[:80]!r}; one of: {', '.join(known)}")


def _positive(field: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise RequestError(field, f"must be positive and finite, got {value}")
