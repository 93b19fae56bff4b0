"""Messages of a client, up to the engine's task."""

from __future__ import annotations

import contextlib
import json

from google.protobuf.message import DecodeError

from verifier.errors import RequestError, UnimplementedError
from verifier.gateway.convert import run_task, score_task
from verifier.limits import DEFAULT_LIMITS, MAX_LIMITS
from verifier.v1 import verifier_pb2 as pb

WORDS = (
    b"python cpp float lines first_n all_or_nothing last verl-sf prime function testlib"
).split()


def target(data: bytes) -> None:
    with contextlib.suppress(DecodeError, RequestError, UnimplementedError):
        message = pb.ScoreRequest.FromString(data)
        score_task(message, defaults=DEFAULT_LIMITS, ceilings=MAX_LIMITS)
    with contextlib.suppress(DecodeError, RequestError):
        run = pb.RunRequest.FromString(data)
        run_task(run, defaults=DEFAULT_LIMITS, ceilings=MAX_LIMITS, deadline_s=None)


def seeds() -> list[bytes]:
    score = pb.ScoreRequest(
        request_id="r",
        response=b"```python\nprint(1)\n```",
        ground_truth=json.dumps({"inputs": ["1"], "outputs": ["1"]}).encode(),
        language="python",
        excerpt_bytes=10,
        deadline_s=5.0,
    )
    score.limits.cpu_time_s = 2.0
    score.comparator.name = "float"
    score.score_policy.name = "first_n"
    score.score_policy.n = 3
    helped = pb.ScoreRequest(response=b"x", suite_digest="0" * 64)
    helped.checker.source = b"def check(i, o, a): return 1"
    helped.checker.style = "function"
    run = pb.RunRequest(stdin=b"1")
    run.source.language, run.source.source = "cpp", b"int main() {}"
    argv = pb.RunRequest()
    argv.argv.args.extend(["cat", "-"])
    return [message.SerializeToString() for message in (score, helped, run, argv)]
