"""verl's default scorer with our sandbox in it: code goes to the gateway, other sources to verl.

verl stacks extra info over the first sample's keys, so answers of all sources have the same keys
here, `EXTRA_KEYS`, whoever scored them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

from verifier.errors import ConfigError, InfraError, RequestError
from verifier.rewards.default import AsyncDefaultScorer
from verifier.scoring.record import from_result, from_value
from verifier.scoring.routing import CODE_SOURCES, code_scorer, find_scorer
from verifier.scoring.sample import Sample
from verifier.scoring.training import training_policy
from verifier.scoring.unavailable import OnUnavailable

SCHEME = "verifier://"
ROUTED = "__verifier_routed__"
"""Attribute of the function that the plugin puts in the place of verl's default."""


def settings_of(
    *,
    server: str | None = None,
    sandbox_fusion_url: str | None = None,
    memory_limit_mb: float | None = None,
    on_unavailable: str | OnUnavailable = OnUnavailable.FALLBACK,
    backend: str = "namespaces",
    accept: Collection[str] = (),
    slots: int | None = None,
    client_id: str = "",
    max_time_limit_hits: int | None = None,
    total_cpu_time_s: float | None = None,
) -> dict[str, Any]:
    """Settings of the code scorer, checked for use inside verl.

    Raises:
        ConfigError: The policy is "mask": verl has no place for a sample without a score. Or the
            bounds of the early stop are no numbers.
    """
    training_policy(max_time_limit_hits, total_cpu_time_s)
    if OnUnavailable.parse(on_unavailable) is OnUnavailable.MASK:
        raise ConfigError("on_unavailable='mask' cannot be used inside verl; 'fallback' or 'raise'")
    return {
        "server": server,
        "sandbox_fusion_url": sandbox_fusion_url,
        "memory_limit_mb": memory_limit_mb,
        "on_unavailable": on_unavailable,
        "backend": backend,
        "accept": tuple(accept),
        "slots": slots,
        "client_id": client_id,
        "max_time_limit_hits": max_time_limit_hits,
        "total_cpu_time_s": total_cpu_time_s,
    }


def verls_default() -> Callable[..., Any]:
    """The `default_compute_score` of verl itself."""
    from verl.utils.reward_score import default_compute_score

    fn: Callable[..., Any] = default_compute_score
    return fn


def is_verls_default(fn: object) -> bool:
    """Whether a function is verl's default scorer, or what the plugin put in its place."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return hasattr(fn, ROUTED) or fn is verls_default()


def bound_url(fn: object) -> str | None:
    """The sandbox's address that verl bound into its default scorer."""
    url = fn.keywords.get("sandbox_fusion_url") if isinstance(fn, functools.partial) else None
    return str(url) if url else None


async def score_code(sample: Sample, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Score one code sample, whole suite in one message; exactly `EXTRA_KEYS`.

    Raises:
        InfraError: It could not be scored.
    """
    (result,) = await code_scorer(**settings).ascore_batch([sample])
    return from_result(result).extra_info()


def score_code_sync(sample: Sample, settings: Mapping[str, Any]) -> dict[str, Any]:
    """`score_code`, for callers without an event loop."""
    (result,) = code_scorer(**settings).score_batch([sample])
    return from_result(result).extra_info()


def score_other(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None,
    *,
    ours_first: bool,
    **kwargs: Any,
) -> object:
    """Score what is not code, by verl's table and ours.

    Args:
        data_source: The sample's.
        solution_str: The same.
        ground_truth: The same.
        extra_info: The same.
        ours_first: Ask `verifier.scoring.find_scorer` first, verl for what it does not know; else
            the other way round.
        **kwargs: For verl's.

    Raises:
        RequestError: Neither knows the source.
    """

    def ours() -> object:
        return find_scorer(data_source)(data_source, solution_str, ground_truth, extra_info)

    def verls() -> object:
        return verls_default()(data_source, solution_str, ground_truth, extra_info, **kwargs)

    if ours_first:
        try:
            scorer = find_scorer(data_source)
        except RequestError as unknown:
            try:
                return verls()
            except (NotImplementedError, ImportError):
                raise unknown from None
        return scorer(data_source, solution_str, ground_truth, extra_info)
    try:
        return verls()
    except NotImplementedError:
        return ours()


def as_columns(answer: object, scorer: str) -> dict[str, Any]:
    """Any scorer's answer as exactly `EXTRA_KEYS`.

    Raises:
        InfraError: It is no score.
        RequestError: A dict has no `score`.
    """
    record = from_value(answer, scorer=scorer)
    if record.infra_error:
        raise InfraError(record.error)
    return record.extra_info()


class VerlScorer(AsyncDefaultScorer):
    """The default scorer of our managers inside verl: batches of code, verl's table for the rest.

    Args:
        **settings: See `settings_of`.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings_of(**settings))

    def batches(self, sample: Sample) -> bool:
        """Whether a sample is code."""
        return sample.data_source in CODE_SOURCES

    def __call__(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: object,
        extra_info: Mapping[str, Any] | None = None,
        **router: Any,
    ) -> Any:
        """Score what is not code."""
        del router
        return score_other(data_source, solution_str, ground_truth, extra_info, ours_first=False)
