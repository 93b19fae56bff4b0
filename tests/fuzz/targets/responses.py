"""Messages of a gateway, in a client."""

from __future__ import annotations

import contextlib

from google.protobuf.message import DecodeError

from verifier.types import CaseResult, CompileFacts, Extraction, Outcome, Result, RunFacts, Status
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert

WORDS = (b"python ACCEPTED namespaces").split()


def target(data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        result = convert.result_from_pb(pb.ScoreResponse.FromString(data))
        again = convert.result_from_pb(convert.result_to_pb(result))
        assert again.outcome is result.outcome
        assert again.status is result.status
    with contextlib.suppress(DecodeError):
        convert.outcome_to_pb(convert.outcome_from_pb(pb.RunResponse.FromString(data)))


def seeds() -> list[bytes]:
    facts = RunFacts(exit_code=0, cpu_time_s=0.1, stdout=b"x")
    result = Result(
        Outcome.SCORED,
        score=0.5,
        status=Status.WRONG_ANSWER,
        passed=1,
        total=2,
        cases=(CaseResult(0, Status.ACCEPTED), CaseResult(1, Status.WRONG_ANSWER, message="x")),
        extraction=Extraction("python", 0, 1, "the last block", source=b"x"),
        compile=CompileFacts(ok=True, facts=facts),
    )
    return [convert.result_to_pb(result).SerializeToString()]
