"""The naive manager of the loop interface; the others build on it.

    rows -> samples -> scorer -> policy -> {"reward_score", "reward_extra_info"} for each

The rules are the legacy manager's (see `verifier.rewards.naive`), on an event loop: an async scorer
is awaited, a synchronous one runs on a thread of its own, a scorer that has `ascore_batch` gets
all samples of a call at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

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
from verifier.rewards.base import Batch, RawRewardFn, Tokenizer
from verifier.rewards.bounded import call_bounded
from verifier.rewards.default import AsyncBatchScorer, AsyncDefaultScorer, local_scorer
from verifier.rewards.examine import Examiner
from verifier.rewards.limiter import Gate
from verifier.rewards.loop.base import RewardManagerBase
from verifier.rewards.loop.registry import register
from verifier.rewards.naive import SCORE_TIMEOUT_S, BatchScorer, arguments_of
from verifier.rewards.policy import check_timeout, choose_policy, is_verls, refuse_mask, settle
from verifier.rewards.reading import Layout, decode, read_layout, read_samples
from verifier.rewards.settings import read_reward_config
from verifier.scoring.record import ScoreRecord, infra_fault
from verifier.scoring.routing import CODE_SOURCES
from verifier.scoring.sample import Sample, nearest
from verifier.scoring.training import STOP_SETTINGS, stop_settings
from verifier.scoring.unavailable import FallbackStats, OnUnavailable

MAX_CONCURRENT = 128
"""Scorer calls at once, where the configuration does not say."""


@register("naive")
class NaiveRewardManager(RewardManagerBase):
    """Scores each response by itself.

    `config.reward.reward_kwargs` holds the settings: `on_unavailable`, `compute_score_timeout`,
    `server`, `accept`, `extra_keys` as of the legacy manager, `max_time_limit_hits` and
    `total_cpu_time_s` of the default scorer (see `verifier.scoring.training`), `num_examine`
    (samples per data source that this process prints, in all) and `reward_fn_key`.

    Args:
        config: See `RewardManagerBase`; may be None.
        tokenizer: The same.
        compute_score: The same.
        reward_router_address: The same.
        reward_model_tokenizer: The same.
        inside_verl: Refuse the policy "mask" here rather than at the first batch.
        fallback: Scorer (with `ascore_batch`) of code samples whose own scorer failed; None for the
            engine on this host.
        **settings: Go before `reward_kwargs`.

    Raises:
        ConfigError: A setting is wrong.
    """

    SETTINGS: tuple[str, ...] = (
        "on_unavailable",
        "compute_score_timeout",
        "server",
        "accept",
        "extra_keys",
        "num_examine",
        "reward_fn_key",
        *STOP_SETTINGS,
    )

    def __init__(
        self,
        config: Any,
        tokenizer: Tokenizer,
        compute_score: RawRewardFn | BatchScorer | AsyncBatchScorer | None = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
        *,
        inside_verl: bool = False,
        fallback: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__(
            config, tokenizer, compute_score, reward_router_address, reward_model_tokenizer
        )
        self.reward_config = read_reward_config(config)
        given = {**self.reward_config.reward_kwargs, **settings}
        for name in given:
            if name not in self.SETTINGS:
                hint = nearest(name, self.SETTINGS)
                raise ConfigError(f"{type(self).__name__} has no setting {name!r}; {hint}")
        self._given = given
        accept = tuple(given.get("accept") or ())
        if compute_score is None:
            self.compute_score = AsyncDefaultScorer(
                server=given.get("server"),
                accept=accept,
                on_unavailable=given.get("on_unavailable") or OnUnavailable.FALLBACK,
                **self.reward_config.sandbox_settings(),
                **stop_settings(given),
            )
        self.on_unavailable = choose_policy(self.compute_score, given.get("on_unavailable"))
        self._inside_verl = inside_verl
        if inside_verl:
            refuse_mask(self.on_unavailable)
        self._timeout_s = check_timeout(given.get("compute_score_timeout", SCORE_TIMEOUT_S))
        self._extra_keys = check_extra_keys(given.get("extra_keys") or ())
        self._source_key = str(given.get("reward_fn_key") or "data_source")
        self._examiner = Examiner(int(given.get("num_examine") or 0))
        self._gate = Gate(self.reward_config.max_concurrent or MAX_CONCURRENT)
        self._fallback = fallback
        self._accept = accept
        self.stats: FallbackStats = getattr(self.compute_score, "stats", None) or FallbackStats()

    async def run_single(self, data: Batch) -> dict[str, Any]:
        """Score the last row; see `RewardManagerBase`."""
        rows: Any = data
        if not len(data):
            raise RequestError("data", "has no rows")
        return (await self.run_batch(rows[-1:]))[0]

    async def run_batch(self, data: Batch) -> list[dict[str, Any]]:
        """Score all rows; what a scorer takes in batches goes out in one call."""
        if is_verls(data):
            refuse_mask(self.on_unavailable)
        layout = read_layout(data)
        loop = asyncio.get_running_loop()
        texts = await loop.run_in_executor(
            None, decode, self.tokenizer, data.batch["responses"], layout.response_mask
        )
        samples = self._prepare(read_samples(data, texts, self._source_key))
        records = await self._score(samples)
        settle(records, self.on_unavailable)
        self._examine(data, layout, samples, records)
        scores = torch.tensor([record.score for record in records], dtype=torch.float32)
        rewards, extra = self._adjust(layout, records, scores)
        written = rewards.tolist()
        return [
            {
                # What no rule has changed keeps the scorer's own precision, as in verl.
                "reward_score": record.score if rewards is scores else float(written[i]),
                "reward_extra_info": {
                    **record.extra_info(),
                    **extra_of(record),
                    **{key: column[i] for key, column in extra.items()},
                },
            }
            for i, record in enumerate(records)
        ]

    # ------------------------------------------------------------ for managers that build on this

    def _prepare(self, samples: list[Sample | ScoreRecord]) -> list[Sample | ScoreRecord]:
        """The samples as the scorer gets them."""
        return samples

    def _adjust(
        self, layout: Layout, records: Sequence[ScoreRecord], scores: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, list[Any]]]:
        """From scores, float32 (n,), to what is written, and further columns."""
        del layout, records
        return scores, {}

    async def _call(self, arguments: Mapping[str, Any]) -> object:
        """One call of the scorer."""
        async with self._gate:
            return await call_bounded(self.compute_score, self._timeout_s, **arguments)

    # ------------------------------------------------------------ scoring

    async def _score(self, given: Sequence[Sample | ScoreRecord]) -> list[ScoreRecord]:
        records = {i: record for i, record in enumerate(given) if isinstance(record, ScoreRecord)}
        samples = [sample for sample in given if isinstance(sample, Sample)]
        batched = [sample for sample in samples if self._in_batch(sample)]
        taken = {sample.index for sample in batched}
        work = [self._score_one(sample) for sample in samples if sample.index not in taken]
        if batched:
            work.append(self._score_batch(batched))
        for answer in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer  # after all were scored: nothing is left running
            records.update(answer)
        return [self._complete(records[i]) for i in range(len(given))]

    def _in_batch(self, sample: Sample) -> bool:
        scorer = self.compute_score
        if not hasattr(scorer, "ascore_batch") and not isinstance(scorer, BatchScorer):
            return False
        chooses = getattr(scorer, "batches", None)
        return chooses is None or bool(chooses(sample))

    async def _score_batch(self, samples: Sequence[Sample]) -> dict[int, ScoreRecord]:
        scorer = self.compute_score
        name = scorer_name(scorer)
        try:
            if hasattr(scorer, "ascore_batch"):
                answers = list(await scorer.ascore_batch(samples))
            else:
                answers = list(await call_bounded(scorer.score_batch, None, samples=samples))
        except InfraError as error:
            if self.on_unavailable is not OnUnavailable.MASK:
                raise  # the scorer has applied the policy, and says which of the samples failed
            return self._all_failed(samples, error, name)
        except (ConfigError, RequestError, UnimplementedError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a scorer raises is a fault, by policy
            return self._all_failed(samples, error, name)
        if len(answers) != len(samples):
            raise RequestError(name, f"{len(answers)} answers for {len(samples)} samples")
        return {
            s.index: record_of_answer(s, answer, name, self._extra_keys)
            for s, answer in zip(samples, answers, strict=True)
        }

    def _all_failed(
        self, samples: Sequence[Sample], error: BaseException, name: str
    ) -> dict[int, ScoreRecord]:
        why = fault_text(error)
        return {s.index: infra_fault(why, scorer=name, request_id=s.request_id) for s in samples}

    async def _score_one(self, sample: Sample) -> dict[int, ScoreRecord]:
        name = scorer_name(self.compute_score)
        try:
            answer = await self._call({**arguments_of(sample), **self._router_arguments()})
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a fault, by policy
            record = record_of_error(sample, error, name)
        else:
            record = record_of_answer(sample, answer, name, self._extra_keys)
        if record.infra_error and self.on_unavailable is OnUnavailable.FALLBACK:
            record = await self._rescore(sample, record)
        return {sample.index: record}

    def _router_arguments(self) -> dict[str, Any]:
        if self.reward_router_address is None:
            return {}
        return {
            "reward_router_address": self.reward_router_address,
            "reward_model_tokenizer": self.reward_model_tokenizer,
        }

    async def _rescore(self, sample: Sample, failed: ScoreRecord) -> ScoreRecord:
        """Score again on this host what a function failed to score, where that can be done."""
        if sample.data_source not in CODE_SOURCES:
            return failed
        scorer = self._fallback or local_scorer(self._accept)
        try:
            (answer,) = await scorer.ascore_batch([sample])
        except InfraError as error:
            return failed.with_error(f"{failed.error}; then the fallback: {error}")
        record = record_of_answer(sample, answer, scorer_name(scorer))
        if record.infra_error:
            return record.with_error(f"{failed.error}; then the fallback: {record.error}")
        self.stats.count("fallback", reason=failed.error.partition(":")[0])
        return record.as_fallback()

    def _complete(self, record: ScoreRecord) -> ScoreRecord:
        missing = {key: 0.0 for key in self._extra_keys if key not in extra_of(record)}
        return with_extra(record, missing) if missing else record

    # ------------------------------------------------------------ for a person

    def _examine(
        self,
        data: Batch,
        layout: Layout,
        samples: Sequence[Sample | ScoreRecord],
        records: Sequence[ScoreRecord],
    ) -> None:
        for i, (sample, record) in enumerate(zip(samples, records, strict=True)):
            if not isinstance(sample, Sample) or not self._examiner.wants(sample.data_source):
                continue
            row = slice(i, i + 1)
            (prompt,) = decode(self.tokenizer, data.batch["prompts"][row], layout.prompt_mask[row])
            self._examiner.show(
                sample.data_source,
                prompt=prompt,
                response=sample.solution_str,
                ground_truth=sample.ground_truth,
                score=record.score if record.valid else f"none: {record.error}",
                status=record.status,
            )
