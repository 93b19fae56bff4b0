"""The naive manager: each response by itself, its score on its last real token.

    read (tensors -> samples) -> score (one batched call where the scorer has one, else one by one)
      -> policy for what the machinery could not score -> assemble (tensor, columns)

A scorer that has `score_batch(samples)` gets the whole batch in one call (a `SandboxScorer` sends
it over one stream); if it also has `batches(sample)`, only the samples for which that is true. The
rest go through the scorer as a function with verl's signature, each bounded in time.

What could not be scored is never a plain 0.0. `on_unavailable`: "fallback" scores code samples with
the engine on this host and raises for the others, "raise" raises when the rest of the batch is
done, "mask" leaves the sample with `valid` 0 and `infra_error` 1. A batch of verl's has no place
for a mask, its trainer would take the 0.0 for a score: there "mask" is refused. A sample whose data
is broken has `valid` 0 too, but is never an error here: all samples of its group share the broken
ground truth, so none of them gets an advantage.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from typing import Any, Protocol, cast, runtime_checkable

import torch

from verifier.errors import ConfigError, InfraError, RequestError, UnimplementedError
from verifier.rewards.answers import (
    check_extra_keys,
    extra_of,
    fault_text,
    record_of_answer,
    record_of_error,
    scorer_name,
    with_extra,
)
from verifier.rewards.assemble import columns, write_scores
from verifier.rewards.base import AbstractRewardManager, Batch, RawRewardFn, Tokenizer
from verifier.rewards.bounded import BoundedCaller
from verifier.rewards.examine import Examiner
from verifier.rewards.policy import check_timeout, choose_policy, is_verls, refuse_mask, settle
from verifier.rewards.reading import Layout, decode, read_layout, read_samples
from verifier.rewards.registry import register
from verifier.scoring.record import ScoreRecord, infra_fault
from verifier.scoring.routing import CODE_SOURCES, DefaultScorer, code_scorer
from verifier.scoring.sample import Sample, nearest
from verifier.scoring.unavailable import FallbackStats, OnUnavailable, report_mixed_groups

_log = logging.getLogger("verifier.rewards")

SCORE_TIMEOUT_S = 600.0


@runtime_checkable
class BatchScorer(Protocol):
    """A scorer that takes many samples at once."""

    def score_batch(self, samples: Sequence[Sample]) -> Sequence[object]:
        """Score samples; a Result, number, pair or dict for each, in order."""
        ...


@register("naive")
class NaiveRewardManager(AbstractRewardManager):
    """Scores each response by itself; see the head of this module.

    Args:
        tokenizer: Decodes prompts and responses.
        num_examine: Samples per data source that are printed at each call, each cut to a bounded
            length.
        compute_score: The scorer: a function with verl's signature (sync or async), or an object
            with `score_batch`. None for `DefaultScorer`, made with `server`, `accept` and
            `on_unavailable`.
        reward_fn_key: Column that names a sample's data source.
        on_unavailable: "fallback", "raise" or "mask"; None takes the scorer's own policy, or
            "fallback".
        inside_verl: The batches will be verl's: "mask" is refused here rather than at the first
            batch.
        compute_score_timeout: Seconds for one call of a scorer that is a function; None is
            unbounded, and calls it on the caller's own thread.
        fallback: Scorer (with `score_batch`) of code samples whose own scorer failed; None for the
            engine on this host.
        server: Gateway of the default scorer.
        accept: Guarantees that may be missing on this host, by name.
        extra_keys: Entries of a scorer's dict that become columns too; every scored sample's dict
            has to have them.
        **kwargs: Refused, with the nearest name.

    Raises:
        ConfigError: A setting is wrong.
    """

    _BASE_SETTINGS = (
        "on_unavailable",
        "inside_verl",
        "compute_score_timeout",
        "fallback",
        "server",
        "accept",
        "extra_keys",
    )

    def __init__(
        self,
        tokenizer: Tokenizer,
        num_examine: int,
        compute_score: RawRewardFn | BatchScorer | None = None,
        reward_fn_key: str = "data_source",
        *,
        on_unavailable: str | OnUnavailable | None = None,
        inside_verl: bool = False,
        compute_score_timeout: float | None = SCORE_TIMEOUT_S,
        fallback: BatchScorer | None = None,
        server: str | None = None,
        accept: Sequence[str] = (),
        extra_keys: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        for name in kwargs:
            hint = nearest(name, self._settings())
            raise ConfigError(f"{type(self).__name__} has no setting {name!r}; {hint}")
        self.tokenizer = tokenizer
        self.num_examine = num_examine
        self.reward_fn_key = reward_fn_key
        self.compute_score: Any = compute_score
        if compute_score is None:
            policy = OnUnavailable.FALLBACK if on_unavailable is None else on_unavailable
            self.compute_score = DefaultScorer(server=server, accept=accept, on_unavailable=policy)
        self.on_unavailable = choose_policy(self.compute_score, on_unavailable)
        if inside_verl:
            refuse_mask(self.on_unavailable)
        self._timeout_s = check_timeout(compute_score_timeout)
        self._extra_keys = check_extra_keys(extra_keys)
        self._fallback = fallback
        self._accept = accept
        self.stats: FallbackStats = getattr(self.compute_score, "stats", None) or FallbackStats()

    def __call__(self, data: Batch, return_dict: bool = False) -> torch.Tensor | dict[str, Any]:
        """Reward a batch.

        Args:
            data: verl's DataProto, or a `RewardBatch`.
            return_dict: Give the extra info too.

        Returns:
            float32 (n, L) shaped like `responses`, or `{"reward_tensor": ..., "reward_extra_info":
            ...}` with lists of n values under exactly `EXTRA_KEYS`.

        Raises:
            RequestError: The batch misses a field, or a scorer's dict its `score`; names it.
            InfraError: Samples could not be scored, and the policy is not "mask".
            ConfigError: The policy is "mask" and the batch is verl's.
        """
        done = self._from_rm_scores(data, return_dict)
        if done is not None:
            return done
        if is_verls(data):
            refuse_mask(self.on_unavailable)
        layout = read_layout(data)
        texts = decode(self.tokenizer, data.batch["responses"], layout.response_mask)
        samples = read_samples(data, [self._text(t) for t in texts], self.reward_fn_key)
        records = self._score(samples)
        self._examine(data, layout, samples, records)
        scores = torch.tensor([record.score for record in records], dtype=torch.float32)
        rewards, extra = self._adjust(layout, records, scores)
        self._write_back(data, scores)
        tensor = write_scores(data.batch["responses"], layout.last, rewards)
        if not return_dict:
            return tensor
        return {"reward_tensor": tensor, "reward_extra_info": {**columns(records), **extra}}

    # ------------------------------------------------------------ for managers that build on this
    # one

    def _settings(self) -> set[str]:
        """What may be set: the keyword-only arguments of the class and of those it builds on."""
        return {
            name
            for cls in type(self).__mro__[:-1]
            for name, argument in inspect.signature(cls).parameters.items()
            if argument.kind is inspect.Parameter.KEYWORD_ONLY
        }

    def _text(self, response: str) -> str:
        """The response as the scorer gets it."""
        return response

    def _adjust(
        self, layout: Layout, records: Sequence[ScoreRecord], scores: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, list[Any]]]:
        """From scores, float32 (n,), to what is written, and further columns."""
        del layout, records
        return scores, {}

    def _write_back(self, data: Batch, scores: torch.Tensor) -> None:
        """What is left in the batch itself."""

    # ------------------------------------------------------------ scoring

    def _score(self, given: Sequence[Sample | ScoreRecord]) -> list[ScoreRecord]:
        records = {i: record for i, record in enumerate(given) if isinstance(record, ScoreRecord)}
        samples = [sample for sample in given if isinstance(sample, Sample)]
        batched = [sample for sample in samples if self._in_batch(sample)]
        taken = {sample.index for sample in batched}
        single = [sample for sample in samples if sample.index not in taken]
        if batched:
            answers = self._score_batch(self.compute_score, batched)
            records.update(zip((s.index for s in batched), answers, strict=True))
        if single:
            answers = self._rescore(single, self._score_single(single))
            records.update(zip((s.index for s in single), answers, strict=True))
        ordered = [self._complete(records[i]) for i in range(len(given))]
        settle(ordered, self.on_unavailable)
        return ordered

    def _in_batch(self, sample: Sample) -> bool:
        if not isinstance(self.compute_score, BatchScorer):
            return False
        chooses = getattr(self.compute_score, "batches", None)
        return chooses is None or bool(chooses(sample))

    def _score_batch(self, scorer: BatchScorer, samples: Sequence[Sample]) -> list[ScoreRecord]:
        name = scorer_name(scorer)
        try:
            answers = list(scorer.score_batch(samples))
        except InfraError as error:
            if scorer is self.compute_score and self.on_unavailable is not OnUnavailable.MASK:
                raise  # the scorer has applied the policy, and says which of the samples failed
            return self._all_failed(samples, error, name)
        except (ConfigError, RequestError, UnimplementedError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a scorer raises is a fault, by policy
            return self._all_failed(samples, error, name)
        return self._records(samples, answers, f"{name}.score_batch", name)

    def _records(
        self, samples: Sequence[Sample], answers: Sequence[object], what: str, name: str
    ) -> list[ScoreRecord]:
        if len(answers) != len(samples):
            raise RequestError(what, f"{len(answers)} answers for {len(samples)} samples")
        return [
            record_of_answer(sample, answer, name, self._extra_keys)
            for sample, answer in zip(samples, answers, strict=True)
        ]

    def _all_failed(
        self, samples: Sequence[Sample], error: BaseException, name: str
    ) -> list[ScoreRecord]:
        why = fault_text(error)
        return [infra_fault(why, scorer=name, request_id=s.request_id) for s in samples]

    def _score_single(self, samples: Sequence[Sample]) -> list[ScoreRecord]:
        """Samples whose scorer takes one at a time."""
        with BoundedCaller(self._timeout_s) as call:
            return [self._score_one(call, sample) for sample in samples]

    def _score_one(self, call: BoundedCaller, sample: Sample) -> ScoreRecord:
        name = scorer_name(self.compute_score)
        try:
            answer = call(self.compute_score, **arguments_of(sample))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a fault, by policy
            return record_of_error(sample, error, name)
        return record_of_answer(sample, answer, name, self._extra_keys)

    def _complete(self, record: ScoreRecord) -> ScoreRecord:
        missing = {key: 0.0 for key in self._extra_keys if key not in extra_of(record)}
        return with_extra(record, missing) if missing else record

    # ------------------------------------------------------------ what could not be scored

    def _rescore(self, samples: Sequence[Sample], records: list[ScoreRecord]) -> list[ScoreRecord]:
        """Under "fallback", score again on this host what a function failed to score and can be."""
        faults = [
            i
            for i, (sample, record) in enumerate(zip(samples, records, strict=True))
            if record.infra_error and sample.data_source in CODE_SOURCES
        ]
        if self.on_unavailable is OnUnavailable.FALLBACK and faults:
            scorer = self._fallback or cast("BatchScorer", code_scorer(accept=self._accept))
            answers = self._score_batch(scorer, [samples[i] for i in faults])
            for i, answer in zip(faults, answers, strict=True):
                why = records[i].error
                if answer.infra_error:
                    records[i] = answer.with_error(f"{why}; then the fallback: {answer.error}")
                else:
                    records[i] = answer.as_fallback()
                    self.stats.count("fallback", reason=why.partition(":")[0])
        report_mixed_groups(
            ((s.group, r.scorer) for s, r in zip(samples, records, strict=True) if r.valid),
            self.stats,
        )
        return records

    # ------------------------------------------------------------ for a person

    def _examine(
        self,
        data: Batch,
        layout: Layout,
        samples: Sequence[Sample | ScoreRecord],
        records: Sequence[ScoreRecord],
    ) -> None:
        examiner = Examiner(self.num_examine)
        for i, (sample, record) in enumerate(zip(samples, records, strict=True)):
            if not isinstance(sample, Sample) or not examiner.wants(sample.data_source):
                continue
            row = slice(i, i + 1)
            (prompt,) = decode(self.tokenizer, data.batch["prompts"][row], layout.prompt_mask[row])
            examiner.show(
                sample.data_source,
                prompt=prompt,
                response=sample.solution_str,
                ground_truth=sample.ground_truth,
                score=record.score if record.valid else f"none: {record.error}",
                status=record.status,
            )


def arguments_of(sample: Sample) -> dict[str, Any]:
    """A sample as the keyword arguments of verl's scorers."""
    return {
        "data_source": sample.data_source,
        "solution_str": sample.solution_str,
        "ground_truth": sample.ground_truth,
        "extra_info": sample.extra_info,
    }
