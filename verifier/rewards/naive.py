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

import logging
from collections.abc import Sequence
from typing import Any, Protocol, cast, runtime_checkable

import torch

from verifier.errors import (
    ConfigError,
    InfraError,
    RequestError,
    SuiteError,
    UnimplementedError,
)
from verifier.rewards.assemble import columns, write_scores
from verifier.rewards.base import AbstractRewardManager, Batch, RawRewardFn, Tokenizer
from verifier.rewards.bounded import BoundedCaller
from verifier.rewards.examine import Examiner
from verifier.rewards.reading import Layout, decode, read_layout, read_samples
from verifier.rewards.registry import register
from verifier.scoring.record import ScoreRecord, broken_data, from_value, infra_fault
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
        **kwargs: Refused, with the nearest name.

    Raises:
        ConfigError: A setting is wrong.
    """

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
        **kwargs: Any,
    ) -> None:
        for name in kwargs:
            hint = nearest(name, _SETTINGS)
            raise ConfigError(f"{type(self).__name__} has no setting {name!r}; {hint}")
        self.tokenizer = tokenizer
        self.num_examine = num_examine
        self.reward_fn_key = reward_fn_key
        self.compute_score: Any = compute_score
        if compute_score is None:
            policy = OnUnavailable.FALLBACK if on_unavailable is None else on_unavailable
            self.compute_score = DefaultScorer(server=server, accept=accept, on_unavailable=policy)
        self.on_unavailable = _policy(self.compute_score, on_unavailable)
        if inside_verl:
            self._refuse_mask()
        if compute_score_timeout is not None and not compute_score_timeout > 0:
            raise ConfigError(
                f"compute_score_timeout={compute_score_timeout} must be positive, or None"
            )
        self._timeout_s = compute_score_timeout
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
        if type(data).__module__.partition(".")[0] == "verl":
            self._refuse_mask()
        layout = read_layout(data)
        texts = decode(self.tokenizer, data.batch["responses"], layout.response_mask)
        samples = read_samples(data, [self._text(t) for t in texts], self.reward_fn_key)
        records = self._score(samples)
        self._examine(data, layout, samples, records)
        scores = torch.tensor([record.score for record in records], dtype=torch.float32)
        rewards, extra = self._adjust(layout, records, scores)
        tensor = write_scores(data.batch["responses"], layout.last, rewards)
        if not return_dict:
            return tensor
        return {"reward_tensor": tensor, "reward_extra_info": {**columns(records), **extra}}

    # ------------------------------------------------------------ for managers that build on this
    # one

    def _text(self, response: str) -> str:
        """The response as the scorer gets it."""
        return response

    def _adjust(
        self, layout: Layout, records: Sequence[ScoreRecord], scores: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, list[Any]]]:
        """From scores, float32 (n,), to what is written, and further columns."""
        del layout, records
        return scores, {}

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
        ordered = [records[i] for i in range(len(given))]
        self._settle(ordered)
        return ordered

    def _in_batch(self, sample: Sample) -> bool:
        if not isinstance(self.compute_score, BatchScorer):
            return False
        chooses = getattr(self.compute_score, "batches", None)
        return chooses is None or bool(chooses(sample))

    def _score_batch(self, scorer: BatchScorer, samples: Sequence[Sample]) -> list[ScoreRecord]:
        name = _name(scorer)
        try:
            answers = list(scorer.score_batch(samples))
        except InfraError as error:
            if scorer is self.compute_score and self.on_unavailable is not OnUnavailable.MASK:
                raise  # the scorer has applied the policy, and says which of the samples failed
            return [
                infra_fault(_fault(error), scorer=name, request_id=s.request_id) for s in samples
            ]
        except (ConfigError, RequestError, UnimplementedError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a scorer raises is a fault, by policy
            return [
                infra_fault(_fault(error), scorer=name, request_id=s.request_id) for s in samples
            ]
        if len(answers) != len(samples):
            raise RequestError(
                f"{name}.score_batch", f"{len(answers)} answers for {len(samples)} samples"
            )
        return [
            self._record(sample, answer, name)
            for sample, answer in zip(samples, answers, strict=True)
        ]

    def _score_single(self, samples: Sequence[Sample]) -> list[ScoreRecord]:
        with BoundedCaller(self._timeout_s) as call:
            return [self._score_one(call, sample) for sample in samples]

    def _score_one(self, call: BoundedCaller, sample: Sample) -> ScoreRecord:
        name = _name(self.compute_score)
        try:
            answer = call(
                self.compute_score,
                data_source=sample.data_source,
                solution_str=sample.solution_str,
                ground_truth=sample.ground_truth,
                extra_info=sample.extra_info,
            )
        except SuiteError as error:
            where = f"samples[{sample.index}].ground_truth"
            return broken_data(f"{where}.{error}", scorer=name, request_id=sample.request_id)
        except RequestError as error:
            raise type(error)(f"samples[{sample.index}].{error.field}", error.problem) from error
        except (ConfigError, UnimplementedError):
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a fault, by policy
            return infra_fault(_fault(error), scorer=name, request_id=sample.request_id)
        return self._record(sample, answer, name)

    def _record(self, sample: Sample, answer: object, name: str) -> ScoreRecord:
        record = from_value(answer, scorer=name, where=f"samples[{sample.index}]")
        return record if record.request_id else record.with_request_id(sample.request_id)

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

    def _settle(self, records: Sequence[ScoreRecord]) -> None:
        broken = [(i, r) for i, r in enumerate(records) if not r.valid and not r.infra_error]
        if broken:
            _log.warning(
                "%d of %d samples have broken data and no score; the first: sample %d: %s",
                len(broken),
                len(records),
                broken[0][0],
                broken[0][1].error,
            )
        faults = [(i, r) for i, r in enumerate(records) if r.infra_error]
        if not faults:
            return
        which, first = faults[0]
        message = (
            f"{len(faults)} of {len(records)} samples could not be scored (on_unavailable="
            f"{self.on_unavailable.value}); the first: sample {which}: {first.error}"
        )
        if self.on_unavailable is not OnUnavailable.MASK:
            raise InfraError(message)
        _log.warning("%s", message)

    def _refuse_mask(self) -> None:
        if self.on_unavailable is OnUnavailable.MASK:
            raise ConfigError(
                "on_unavailable='mask' cannot be used inside verl: its batches have no place "
                "for a sample without a score, and 0.0 would be learned from; "
                "use 'fallback' or 'raise'"
            )

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


_SETTINGS = (
    "on_unavailable",
    "inside_verl",
    "compute_score_timeout",
    "fallback",
    "server",
    "accept",
    "max_resp_len",
    "overlong_buffer_cfg",
)


def _policy(scorer: object, given: str | OnUnavailable | None) -> OnUnavailable:
    own = getattr(scorer, "on_unavailable", None)
    if given is None:
        return OnUnavailable.parse(own) if own is not None else OnUnavailable.FALLBACK
    policy = OnUnavailable.parse(given)
    if own is not None and OnUnavailable.parse(own) is not policy:
        raise ConfigError(
            f"on_unavailable={policy.value!r}, but the scorer was made with "
            f"{OnUnavailable.parse(own).value!r}; set it in one place"
        )
    return policy


def _name(scorer: object) -> str:
    while not hasattr(scorer, "__name__") and hasattr(scorer, "func"):  # functools.partial
        scorer = scorer.func
    return str(getattr(scorer, "__name__", type(scorer).__name__))


def _fault(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
