"""Reward functions for PrimeIntellect's `verifiers`, of both its stacks.

`verifiers.v1` (0.2 and later), where a reward function is named in a task's configuration or called
from a `@vf.reward` method:

    sandbox_reward = task_reward("127.0.0.1:50051", ground_truth="answer")
    TaskConfig(rewards={"sandbox": {"fn": "my_taskset:sandbox_reward"}})

What could not be scored raises there: the stack records the error and leaves the reward None.

`Rubric` (below 0.2):

    vf.Rubric(funcs=[rubric_function("127.0.0.1:50051")])

A rubric turns whatever a function raises into the reward 0.0, and has no other place for a sample
without a score. So the fault is left in `state["error"]` as the package's own environments leave
theirs, `vf.SandboxError`, by which a rollout is retried, and by which a trainer has to drop it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from verifier.errors import InfraError, RequestError
from verifier.integrations.scorer import Scorer, number
from verifier.scoring.sample import OPTIONS_KEY
from verifier.scoring.unavailable import OnUnavailable


def task_reward(
    server: str | None = None,
    *,
    ground_truth: str = "answer",
    on_unavailable: str | OnUnavailable = OnUnavailable.MASK,
    **settings: Any,
) -> Callable[..., Awaitable[float]]:
    """A reward function of `verifiers.v1`: `await sandbox_reward(task, trace)`.

    Args:
        server: "HOST:PORT" of a gateway, or None to score on this host.
        ground_truth: Field of the task's data with the test cases.
        on_unavailable: "mask" and "raise" raise for what could not be scored, "fallback" scores it
            on this host.
        **settings: Of `SandboxScorer`.

    Raises:
        ConfigError: A setting is wrong.
    """
    scorer = Scorer(server, on_unavailable=on_unavailable, **settings)

    async def sandbox_reward(task: Any, trace: Any) -> float:
        """The pass rate of the program in the assistant's last message.

        Args:
            task: `TaskData`.
            trace: The `Trace`; its `messages` are read.

        Raises:
            RequestError: The task's data has no ground truth, or a broken one.
            InfraError: It could not be scored.
        """
        truth = getattr(task, ground_truth, None)
        if truth is None:
            raise RequestError(
                f"task.{ground_truth}", f"missing in the data of a {type(task).__name__}"
            )
        (record,) = await scorer.arecords([list(trace.messages)], [truth])
        return number(record)

    return sandbox_reward


def rubric_function(
    server: str | None = None,
    *,
    name: str = "sandbox_reward",
    on_unavailable: str | OnUnavailable = OnUnavailable.MASK,
    **settings: Any,
) -> Callable[..., Awaitable[float]]:
    """A function for `verifiers.Rubric`: `await sandbox_reward(completion, answer, state, info)`.

    Args:
        server: "HOST:PORT" of a gateway, or None to score on this host.
        name: Under which the rubric logs it.
        on_unavailable: "mask" and "raise" mark the state of what could not be scored, "fallback"
            scores it on this host.
        **settings: Of `SandboxScorer`.

    Raises:
        ConfigError: A setting is wrong.
    """
    scorer = Scorer(server, on_unavailable=on_unavailable, **settings)

    async def sandbox_reward(
        completion: object,
        answer: object,
        state: MutableMapping[str, Any],
        info: Mapping[str, Any] | None = None,
    ) -> float:
        """The pass rate of a completion's program; 0.0 and `state["error"]` where there is none.

        Args:
            completion: A text, or messages; the assistant's last is scored.
            answer: The test cases.
            state: The rollout's; gets `verifier`, the record's columns.
            info: The row's other facts; its key "verifier" may hold options.
        """
        options = {OPTIONS_KEY: info[OPTIONS_KEY]} if info and OPTIONS_KEY in info else None
        try:
            (record,) = await scorer.arecords([completion], [answer], extra_infos=[options])
        except (InfraError, RequestError) as error:
            name = "SandboxError" if isinstance(error, InfraError) else "Error"
            state["error"] = _error(name, f"{type(error).__name__}: {error}")
            return 0.0
        state["verifier"] = record.extra_info()
        if not record.valid:
            # Broken data stays broken: only what may go better next time gets the name that is
            # retried.
            name = "SandboxError" if record.infra_error else "Error"
            state["error"] = _error(name, f"{record.outcome}: {record.error}")
        return record.score

    sandbox_reward.__name__ = name
    return sandbox_reward


def _error(name: str, message: str) -> Exception:
    try:
        import verifiers
    except ImportError:  # somebody else's caller of the same shape
        return InfraError(message)
    cls: type[Exception] = getattr(verifiers, name, InfraError)
    return cls(message)
