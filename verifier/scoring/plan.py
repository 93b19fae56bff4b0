"""The bookkeeping of one batch: what is scored, what is not yet, and why.

Pure: the scorer, synchronous or not, asks the gateway and the local engine and tells the plan what
came.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from verifier.errors import (
    GatewayUnavailableError,
    LimitError,
    RequestError,
    UnimplementedError,
)
from verifier.scoring.sample import (
    CallOptions,
    Sample,
    build_tasks,
    options_of,
    plain,
)
from verifier.types import LimitOverrides, Outcome, Result, ScorePolicy, ScoreTask

LOCAL_SCORER = "prime_code"


@dataclass(frozen=True, slots=True)
class Plan:
    """One batch on its way.

    Attributes:
        samples: With request ids, and ground truths as plain data.
        options: What each sample says about how it is scored.
        done: Position -> result.
        todo: Position -> why it has no result yet; "" where nobody was asked.
    """

    samples: list[Sample]
    options: list[CallOptions]
    done: dict[int, Result]
    todo: dict[int, str]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Plan:
        """Begin; samples whose ground truth is no data at all are done already.

        Raises:
            RequestError: The options of a sample are malformed.
        """
        plan = cls([], [options_of(sample) for sample in samples], {}, {})
        for position, sample in enumerate(samples):
            truth, problem = sample.ground_truth, ""
            try:
                truth = plain(truth)
            except RecursionError:
                problem = "ground_truth: nested too deeply"
            if truth is None:
                problem = "ground_truth: missing"
            request_id = sample.request_id or uuid.uuid4().hex
            plan.samples.append(replace(sample, ground_truth=truth, request_id=request_id))
            if problem:
                plan.done[position] = Result(
                    outcome=Outcome.INVALID_SUITE, error=problem, request_id=request_id
                )
            else:
                plan.todo[position] = ""
        return plan

    def fail(self, why: str) -> None:
        """Whoever was asked for all that is to do gave nothing."""
        for position in self.todo:
            self.todo[position] = why

    def take_gateway(self, answers: Sequence[Result]) -> str:
        """Take the gateway's answers to all that is to do.

        Returns:
            Why nobody answered anything; "" where the gateway is there.

        Raises:
            RequestError: The caller is at fault for one of them; names the sample.
            UnimplementedError: The same, for what the gateway does not do.
        """
        unreachable = bool(answers)
        for position, answer in zip(list(self.todo), answers, strict=True):
            if answer.outcome is Outcome.INFRA_ERROR:
                _raise_callers_fault(answer.error, f"samples[{self.samples[position].index}]")
                self.todo[position] = answer.error or "the gateway reported a fault"
                unreachable &= answer.error.startswith(GatewayUnavailableError.__name__)
            else:
                del self.todo[position]
                self.done[position] = answer
                unreachable = False
        return answers[0].error if unreachable else ""

    def local_tasks(
        self,
        *,
        limits: LimitOverrides,
        deadline_s: float | None,
        client_id: str,
        policy: ScorePolicy = ScorePolicy(),
        priority: int = 0,
    ) -> dict[int, ScoreTask]:
        """What the local engine has to score; samples whose data is broken are done by this."""
        positions = list(self.todo)
        built = build_tasks(
            [self.samples[position] for position in positions],
            limits=limits,
            deadline_s=deadline_s,
            client_id=client_id,
            policy=policy,
            priority=priority,
        )
        tasks = {}
        for position, task in zip(positions, built, strict=True):
            if isinstance(task, Result):
                self._settle(position, task)
            else:
                tasks[position] = task
        return tasks

    def take_local(self, tasks: Mapping[int, ScoreTask], answers: Sequence[Result]) -> None:
        """Take the local engine's answers to its tasks."""
        for position, answer in zip(tasks, answers, strict=True):
            if answer.outcome is Outcome.INFRA_ERROR:
                why = self.todo[position]
                self.todo[position] = f"{why}; then here: {answer.error}" if why else answer.error
            else:
                self._settle(position, answer)

    def names(self, tasks: Mapping[int, ScoreTask]) -> list[str]:
        """What errors call the tasks."""
        return [f"samples[{self.samples[position].index}]" for position in tasks]

    def unscored(self) -> str:
        """What to say when something is left to do and nobody left to ask."""
        position, why = min(self.todo.items())
        return (
            f"{len(self.todo)} of {len(self.samples)} samples could not be scored; "
            f"the first is sample {self.samples[position].index}: {why}"
        )

    def results(self, scorer: str) -> list[Result]:
        """Results in order; what is left to do is an infrastructure fault of `scorer`."""
        return [
            self.done.get(position)
            or Result(
                outcome=Outcome.INFRA_ERROR,
                error=self.todo[position],
                scorer=scorer,
                request_id=sample.request_id,
            )
            for position, sample in enumerate(self.samples)
        ]

    def _settle(self, position: int, answer: Result) -> None:
        why = self.todo.pop(position)
        self.done[position] = answer.replace(scorer=LOCAL_SCORER, fallback=why)


def _raise_callers_fault(error: str, name: str) -> None:
    """Raise again what the client's stream wrote into a result: no other scorer would know better.

    The client begins `error` with the exception's name. A message that is too big for the gateway
    is the exception: this host can score it.
    """
    kind, _, text = error.partition(": ")
    if kind == UnimplementedError.__name__:
        raise UnimplementedError(f"{name}: {text}")
    field, _, problem = text.partition(": ")
    if field == "message":
        return
    for cls in (RequestError, LimitError):
        if kind == cls.__name__:
            raise cls(f"{name}.{field}", problem)
