"""Stand-ins for the two things a scorer asks: a gateway's client and a local engine."""

from __future__ import annotations

import json

from verifier.types import Outcome, Result, Status

ADD = "```python\na, b = map(int, input().split())\nprint(a + b)\n```"
TRUTH = json.dumps({"inputs": ["2 3\n", "10 -4\n"], "outputs": ["5\n", "6\n"]})


def scored(score=1.0, **fields):
    status = Status.ACCEPTED if score == 1.0 else Status.WRONG_ANSWER
    return Result(outcome=Outcome.SCORED, score=score, status=status, **fields)


def fault(error="SlotError: died"):
    return Result(outcome=Outcome.INFRA_ERROR, error=error)


class FakeClient:
    """Answers from a list; an exception in its place is raised."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.batches = []
        self.closed = False

    def score_many(self, requests):
        self.batches.append(list(requests))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return [
            r.replace(request_id=call.request_id)
            for r, call in zip(answer, self.batches[-1], strict=True)
        ]

    def close(self):
        self.closed = True


class FakeAsyncClient(FakeClient):
    async def score_many(self, requests):
        return super().score_many(requests)

    async def close(self):
        self.closed = True


class FakeLocal:
    """A local engine that answers from a list, or with full marks."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.tasks = []
        self.names = []

    def score_many(self, tasks, names=None):
        self.tasks.extend(tasks)
        self.names.extend(names or ())
        given = [self.answers.pop(0) if self.answers else scored() for _ in tasks]
        return [r.replace(request_id=t.request_id) for r, t in zip(given, tasks, strict=True)]

    async def ascore_many(self, tasks, names=None):
        return self.score_many(tasks, names)
