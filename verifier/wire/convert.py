"""Values <-> messages, both ways: the one place, shared by the gateway and the client.

Enums are mapped by tables made at import. Nothing is validated here: what a request may ask for is
the gateway's business (`verifier.gateway.convert`), and what comes out of the engine is right by
its types.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from verifier.languages import resolve
from verifier.types import (
    CaseResult,
    Checker,
    Comparator,
    CompileFacts,
    Extraction,
    Interactor,
    LimitOverrides,
    Limits,
    Outcome,
    Result,
    RunFacts,
    RunOutcome,
    ScorePolicy,
    Status,
    Timing,
    Trust,
)
from verifier.v1 import verifier_pb2 as pb

__all__ = [
    "checker_from_pb",
    "comparator_from_pb",
    "comparator_to_pb",
    "helper_to_pb",
    "interactor_from_pb",
    "limits_from_pb",
    "limits_to_pb",
    "outcome_from_pb",
    "outcome_to_pb",
    "overrides_from_pb",
    "overrides_to_pb",
    "policy_from_pb",
    "policy_to_pb",
    "result_from_pb",
    "result_to_pb",
    "text",
]

# Any: the stubs of protobuf tell an enum from its number, the messages take both.
_STATUS_TO_PB: dict[Status, Any] = {s: pb.Status.Value(f"STATUS_{s.name}") for s in Status}
_STATUS_FROM_PB = {int(number): status for status, number in _STATUS_TO_PB.items()}
_OUTCOME_TO_PB: dict[Outcome, Any] = {o: pb.Outcome.Value(f"OUTCOME_{o.name}") for o in Outcome}
_OUTCOME_FROM_PB = {int(number): outcome for outcome, number in _OUTCOME_TO_PB.items()}
_TRUST_TO_PB: dict[Trust, Any] = {t: pb.Trust.Value(f"TRUST_{t.name}") for t in Trust}
_TRUST_FROM_PB = {int(number): trust for trust, number in _TRUST_TO_PB.items()}

_LIMIT_FIELDS = tuple(LimitOverrides.__dataclass_fields__)


def text(value: str) -> str:
    """A string that protobuf takes: lone surrogates, which an output may hold, are replaced."""
    if value.isascii():
        return value
    return value.encode("utf-8", "replace").decode("utf-8")


def overrides_to_pb(limits: LimitOverrides) -> pb.Limits | None:
    """What is not None; None when nothing is set.

    Raises:
        ValueError: A value does not fit the wire's type (a negative count).
    """
    given = {name: value for name in _LIMIT_FIELDS if (value := getattr(limits, name)) is not None}
    return pb.Limits(**given) if given else None


def overrides_from_pb(message: pb.Limits) -> LimitOverrides:
    """What the message has set."""
    return LimitOverrides(**{field.name: value for field, value in message.ListFields()})


def limits_to_pb(limits: Limits) -> pb.Limits:
    """All fields."""
    return pb.Limits(**{name: getattr(limits, name) for name in _LIMIT_FIELDS})


def limits_from_pb(message: pb.Limits) -> Limits:
    """All fields."""
    return Limits(**{name: getattr(message, name) for name in _LIMIT_FIELDS})


def comparator_to_pb(comparator: Comparator) -> pb.Comparator:
    """All fields."""
    return pb.Comparator(
        name=comparator.name, abs_tol=comparator.abs_tol, rel_tol=comparator.rel_tol
    )


def comparator_from_pb(message: pb.Comparator) -> Comparator:
    """What is absent takes the default of `Comparator`."""
    default = Comparator()
    return Comparator(
        name=message.name or default.name,
        abs_tol=message.abs_tol if message.HasField("abs_tol") else default.abs_tol,
        rel_tol=message.rel_tol if message.HasField("rel_tol") else default.rel_tol,
    )


def helper_to_pb(helper: Checker | Interactor) -> pb.Helper:
    """All fields."""
    source = helper.source
    return pb.Helper(
        language=helper.language,
        source=source.encode("utf-8", "replace") if isinstance(source, str) else source,
        limits=overrides_to_pb(helper.limits),
        style=helper.style,
        files=dict(helper.files),
        args=helper.args,
        full_points=helper.full_points,
    )


def checker_from_pb(message: pb.Helper) -> Checker:
    """Without a language it is Python; without a style, Python is a function."""
    given = _helper_fields(message, "python")
    style = message.style or ("function" if resolve(given["language"]) == "python" else "testlib")
    return Checker(**given, style=style)


def interactor_from_pb(message: pb.Helper) -> Interactor:
    """What is absent takes the default of `Interactor`."""
    return Interactor(**_helper_fields(message, "cpp"), style=message.style or "testlib")


def _helper_fields(message: pb.Helper, language: str) -> dict[str, Any]:
    return {
        "source": message.source,
        "language": message.language or language,
        # A map has no order on the wire; the same files are to be the same program.
        "files": tuple(sorted(message.files.items())),
        "args": tuple(message.args),
        "limits": overrides_from_pb(message.limits),
        "full_points": message.full_points if message.HasField("full_points") else 1.0,
    }


def policy_to_pb(policy: ScorePolicy) -> pb.ScorePolicy:
    """All fields."""
    return pb.ScorePolicy(
        name=policy.name,
        n=policy.n,
        no_code_score=policy.no_code or None,
        compile_error_score=policy.compile_error or None,
        empty_output_score=policy.empty_output,
        max_time_limit_hits=policy.max_time_limit_hits,
        total_cpu_time_s=policy.total_cpu_time_s,
    )


def policy_from_pb(message: pb.ScorePolicy) -> ScorePolicy:
    """What is absent or zero takes the default of `ScorePolicy`."""
    default = ScorePolicy()
    empty = message.empty_output_score if message.HasField("empty_output_score") else None
    return ScorePolicy(
        name=message.name or default.name,
        n=message.n or default.n,
        no_code=message.no_code_score,
        compile_error=message.compile_error_score,
        empty_output=empty,
        max_time_limit_hits=message.max_time_limit_hits,
        total_cpu_time_s=message.total_cpu_time_s,
    )


def result_to_pb(
    result: Result,
    *,
    suite_digest: str = "",
    versions: Mapping[str, str] | None = None,
    excerpt_budget: float = math.inf,
) -> pb.ScoreResponse:
    """A whole result.

    Args:
        result: What the engine gave.
        suite_digest: Of the suite it was scored against.
        versions: Of the gateway and the toolchain.
        excerpt_budget: Bytes of stdout and stderr over all cases; what comes after is left out (the
            full lengths stay), so that a suite of many cases cannot make a message of any size.
    """
    message = pb.ScoreResponse(
        request_id=result.request_id,
        outcome=_OUTCOME_TO_PB[result.outcome],
        score=result.score,
        status=_STATUS_TO_PB[result.status] if result.status is not None else pb.STATUS_UNSPECIFIED,
        passed=result.passed,
        total=result.total,
        scorer=result.scorer,
        runner=result.runner,
        cached=result.cached,
        trust=_TRUST_TO_PB[result.trust],
        error=text(result.error),
        stopped=result.stopped,
        suite_digest=suite_digest,
        versions=versions,
        timing=_timing_to_pb(result.timing),
    )
    if result.extraction is not None:
        message.extraction.CopyFrom(_extraction_to_pb(result.extraction))
    if result.compile is not None:
        message.compile.CopyFrom(_compile_to_pb(result.compile))
    add = message.cases.add
    for case in result.cases:
        stdout, stderr = case.stdout, case.stderr
        size = len(stdout) + len(stderr)
        if size > excerpt_budget:
            stdout = stderr = b""
        else:
            excerpt_budget -= size
        _fill_case(add(), case, stdout, stderr)
    return message


def result_from_pb(message: pb.ScoreResponse) -> Result:
    """A whole result. An outcome that is unknown here (a newer gateway's) is an INFRA_ERROR."""
    outcome = _OUTCOME_FROM_PB.get(message.outcome, Outcome.INFRA_ERROR)
    return Result(
        outcome=outcome,
        score=message.score if outcome is Outcome.SCORED else None,
        status=_STATUS_FROM_PB.get(message.status),
        passed=message.passed,
        total=message.total,
        cases=tuple(_case_from_pb(case) for case in message.cases),
        extraction=_extraction_from_pb(message.extraction)
        if message.HasField("extraction")
        else None,
        compile=_compile_from_pb(message.compile) if message.HasField("compile") else None,
        timing=_timing_from_pb(message.timing),
        scorer=message.scorer,
        runner=message.runner,
        cached=message.cached,
        trust=_TRUST_FROM_PB.get(message.trust, Trust.ISOLATED),
        error=message.error or ("" if outcome is Outcome.SCORED else "the gateway gave no reason"),
        request_id=message.request_id,
        stopped=message.stopped,
    )


def outcome_to_pb(
    outcome: RunOutcome,
    *,
    request_id: str = "",
    versions: Mapping[str, str] | None = None,
    excerpt_bytes: int | None = None,
) -> pb.RunResponse:
    """A run without judging; `excerpt_bytes` cuts its two streams."""
    facts = outcome.facts
    message = pb.RunResponse(
        request_id=request_id,
        status=_STATUS_TO_PB[outcome.status],
        runner=outcome.runner,
        versions=versions,
    )
    _fill_case(
        message.facts,
        CaseResult(
            index=0,
            status=outcome.status,
            cpu_time_s=facts.cpu_time_s,
            wall_time_s=facts.wall_time_s,
            queue_s=outcome.queue_s,
            memory_bytes=facts.memory_bytes,
            exit_code=facts.exit_code,
            signal=facts.signal,
            stdout_bytes=facts.stdout_bytes,
            stderr_bytes=facts.stderr_bytes,
            message=outcome.message,
        ),
        facts.stdout[:excerpt_bytes],
        facts.stderr[:excerpt_bytes],
    )
    if outcome.compile is not None:
        message.compile.CopyFrom(_compile_to_pb(outcome.compile))
    return message


def outcome_from_pb(message: pb.RunResponse) -> RunOutcome:
    """A run without judging. Who killed it is in the status; the wire has no more."""
    case = _case_from_pb(message.facts)
    return RunOutcome(
        status=_STATUS_FROM_PB.get(message.status, Status.RUNTIME_ERROR),
        facts=RunFacts(
            exit_code=case.exit_code,
            signal=case.signal,
            cpu_time_s=case.cpu_time_s,
            wall_time_s=case.wall_time_s,
            memory_bytes=case.memory_bytes,
            stdout=case.stdout,
            stderr=case.stderr,
            stdout_bytes=case.stdout_bytes,
            stderr_bytes=case.stderr_bytes,
        ),
        compile=_compile_from_pb(message.compile) if message.HasField("compile") else None,
        runner=message.runner,
        message=case.message,
        queue_s=case.queue_s,
    )


def _fill_case(message: pb.CaseResult, case: CaseResult, stdout: bytes, stderr: bytes) -> None:
    message.index = case.index
    message.status = _STATUS_TO_PB[case.status]
    message.cpu_time_s = case.cpu_time_s
    message.wall_time_s = case.wall_time_s
    message.queue_s = case.queue_s
    message.memory_bytes = case.memory_bytes
    if case.exit_code is not None:
        message.exit_code = case.exit_code
    if case.signal is not None:
        message.signal = case.signal
    if stdout:
        message.stdout = stdout
    if stderr:
        message.stderr = stderr
    message.stdout_bytes = case.stdout_bytes
    message.stderr_bytes = case.stderr_bytes
    if case.message:
        message.message = text(case.message)
    message.rerun = case.rerun
    if case.points is not None:
        message.points = case.points
    message.name = text(case.name)


def _case_from_pb(message: pb.CaseResult) -> CaseResult:
    return CaseResult(
        index=message.index,
        status=_STATUS_FROM_PB.get(message.status, Status.SKIPPED),
        cpu_time_s=message.cpu_time_s,
        wall_time_s=message.wall_time_s,
        queue_s=message.queue_s,
        memory_bytes=message.memory_bytes,
        exit_code=message.exit_code if message.HasField("exit_code") else None,
        signal=message.signal if message.HasField("signal") else None,
        stdout=message.stdout,
        stderr=message.stderr,
        stdout_bytes=message.stdout_bytes,
        stderr_bytes=message.stderr_bytes,
        message=message.message,
        points=message.points if message.HasField("points") else None,
        rerun=message.rerun,
        name=message.name,
    )


def _extraction_to_pb(extraction: Extraction) -> pb.Extraction:
    return pb.Extraction(
        language=extraction.language,
        block_index=extraction.block_index,
        block_count=extraction.block_count,
        reason=text(extraction.reason),
        reasoning_cut_chars=extraction.reasoning_cut,
        source=extraction.source,
    )


def _extraction_from_pb(message: pb.Extraction) -> Extraction:
    return Extraction(
        language=message.language,
        block_index=message.block_index if message.HasField("block_index") else None,
        block_count=message.block_count,
        reason=message.reason,
        reasoning_cut=message.reasoning_cut_chars,
        source=message.source,
    )


def _compile_to_pb(compiled: CompileFacts) -> pb.Compile:
    return pb.Compile(
        ok=compiled.ok,
        cached=compiled.cached,
        cpu_time_s=compiled.facts.cpu_time_s,
        wall_time_s=compiled.facts.wall_time_s,
        memory_bytes=compiled.facts.memory_bytes,
        message=compiled.message.encode("utf-8", "replace"),
    )


def _compile_from_pb(message: pb.Compile) -> CompileFacts:
    return CompileFacts(
        ok=message.ok,
        facts=RunFacts(
            cpu_time_s=message.cpu_time_s,
            wall_time_s=message.wall_time_s,
            memory_bytes=message.memory_bytes,
        ),
        cached=message.cached,
        message=message.message.decode("utf-8", "replace"),
    )


def _timing_to_pb(timing: Timing) -> pb.Timing:
    return pb.Timing(
        cpu_time_s=timing.cpu_time_s,
        wall_time_s=timing.wall_time_s,
        queue_s=timing.queue_s,
        compile_s=timing.compile_s,
        total_s=timing.total_s,
    )


def _timing_from_pb(message: pb.Timing) -> Timing:
    return Timing(
        cpu_time_s=message.cpu_time_s,
        wall_time_s=message.wall_time_s,
        queue_s=message.queue_s,
        compile_s=message.compile_s,
        total_s=message.total_s,
    )
