"""A reward function for TRL's GRPOTrainer and RLOOTrainer; TRL itself is not imported.

    GRPOTrainer(reward_funcs=[SandboxReward("127.0.0.1:50051")], train_dataset=..., ...)

The trainer calls it with prompts, completions, completion_ids, each column of the data set
(repeated for the generations of a prompt), trainer_state, log_extra and log_metric. A completion
that could not be scored gets None: TRL leaves it out of its group's baseline and gives it no
advantage (1.16; older ones took it for 0 where it was the only reward function).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verifier.errors import RequestError
from verifier.integrations.scorer import Scorer, numbers
from verifier.scoring.sample import OPTIONS_KEY
from verifier.scoring.unavailable import OnUnavailable


class SandboxReward:
    """The pass rate of each completion's program.

    Args:
        server: "HOST:PORT" of a gateway, or None to score on this host.
        ground_truth: Column with the test cases.
        name: Under which TRL logs it.
        on_unavailable: "mask" (None), "raise" or "fallback".
        **settings: Of `SandboxScorer`.

    Raises:
        ConfigError: A setting is wrong.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        ground_truth: str = "ground_truth",
        name: str = "sandbox_reward",
        on_unavailable: str | OnUnavailable = OnUnavailable.MASK,
        **settings: Any,
    ) -> None:
        self.__name__ = name  # what TRL logs a function by
        self.scorer = Scorer(server, on_unavailable=on_unavailable, **settings)
        self._column = ground_truth

    def __call__(
        self,
        prompts: Sequence[object],
        completions: Sequence[object],
        *,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Score completions.

        Args:
            prompts: Not read.
            completions: Texts, or lists of messages; the assistant's last is scored.
            log_extra: TRL's; gets each completion's status.
            log_metric: TRL's; gets the shares of accepted and of unscored completions.
            **columns: The data set's; one of them has the test cases, and "verifier" may have
                options.

        Returns:
            A score in [0, 1] for each completion, None for what could not be scored.

        Raises:
            RequestError: The column is not there, or a completion is no text.
            InfraError: Something could not be scored, and the policy is not "mask".
        """
        del prompts
        if self._column not in columns:
            has = ", ".join(sorted(columns)) or "none"
            raise RequestError(self._column, f"no such column in the data set; there are: {has}")
        options = columns.get(OPTIONS_KEY)
        records = self.scorer.records(
            completions,
            columns[self._column],
            extra_infos=None if options is None else [{OPTIONS_KEY: given} for given in options],
        )
        if log_extra is not None:
            log_extra(f"{self.__name__}/status", [r.status or r.outcome for r in records])
        if log_metric is not None and records:
            log_metric(f"{self.__name__}/acc", sum(r.acc for r in records) / len(records))
            log_metric(
                f"{self.__name__}/unscored", sum(not r.valid for r in records) / len(records)
            )
        return numbers(records)

    def close(self) -> None:
        """Free the channel."""
        self.scorer.close()
