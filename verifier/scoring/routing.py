"""Which scorer scores which data source: verl's `default_compute_score` with an open table.

    register_scorer("my/data-set", my_compute_score)      # verl's signature; that is all

A scorer is called as `scorer(data_source, solution_str, ground_truth, extra_info, **kwargs)` and
returns a number, a `(score, metadata)` pair or a dict; it may be a coroutine function. A function
of the response and the ground truth alone becomes one by `answer_scorer`. The four code sources go
through `SandboxScorer`: to the gateway that `server=` names (or verl's key,
`sandbox_fusion_url=verifier://HOST:PORT`), else to the engine on this host. All others are verl's
too, and are scored in this process or, where mathematics is compared, in worker processes of it.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verifier._apart import run_apart
from verifier._text import to_text
from verifier.errors import ConfigError, InfraError, RequestError, SuiteError
from verifier.scoring.record import broken_data, from_result, from_value
from verifier.scoring.sample import Sample, nearest
from verifier.scoring.sandbox import SandboxScorer, parse_server
from verifier.scoring.training import TRAINING_PRIORITY, training_policy
from verifier.scoring.unavailable import OnUnavailable
from verifier.types import LimitOverrides, Result

ScoreFn = Callable[..., Any]

CODE_SOURCES = ("codecontests", "apps", "codeforces", "taco")

# verl's table: data source (a trailing "*": its beginning) -> module with `compute_score`.
_ANSWER_SOURCES = {
    "openai/gsm8k": "gsm8k",
    "lighteval/MATH": "math_reward",
    "DigitalLearningGmbH/MATH-lighteval": "math_reward",
    "HuggingFaceH4/MATH-500": "math_reward",
    "math_dapo": "math_dapo",
    "math": "math_dapo",
    "math_dapo_reasoning": "math_dapo",
    "aime*": "math_dapo",
    "numina_aops_forum": "prime_math",
    "numina_synthetic_math": "prime_math",
    "numina_amc_aime": "prime_math",
    "numina_synthetic_amc": "prime_math",
    "numina_cn_k12": "prime_math",
    "numina_olympiads": "prime_math",
    "hiyouga/geometry3k": "geo3k",
    "searchR1_nq": "search_r1_like_qa_em",
    "searchR1_triviaqa": "search_r1_like_qa_em",
    "searchR1_popqa": "search_r1_like_qa_em",
    "searchR1_hotpotqa": "search_r1_like_qa_em",
    "searchR1_2wikimultihopqa": "search_r1_like_qa_em",
    "searchR1_musique": "search_r1_like_qa_em",
    "searchR1_bamboogle": "search_r1_like_qa_em",
}
# Those that compute for more than a moment: not on an event loop.
_IN_A_WORKER = ("prime_math", "geo3k")

# What verl hands to every scorer where a reward model is served; rules have no use for it.
_REWARD_MODEL_SETTINGS = frozenset({"reward_router_address", "reward_model_tokenizer"})


@dataclass(frozen=True, slots=True)
class _Route:
    scorer: ScoreFn
    prefix: bool


_routes: dict[str, _Route] = {}


def register_scorer(
    source: str, scorer: ScoreFn, *, prefix: bool = False, replace: bool = False
) -> None:
    """Let `scorer` score a data source.

    Args:
        source: The `data_source` of the rows, or its beginning.
        scorer: See the head of this module.
        prefix: `source` is the beginning of a name ("aime" for "aime2024"); exact names go first.
        replace: Take the place of another scorer.

    Raises:
        ConfigError: The source has another scorer, and `replace` is not set.
    """
    route = _Route(scorer, prefix)
    if not replace and _routes.get(source, route) != route:
        raise ConfigError(
            f"data source {source!r} already has a scorer; pass replace=True to take its place"
        )
    _routes[source] = route


def known_sources() -> tuple[str, ...]:
    """The registered names, prefixes with a trailing "*"."""
    return tuple(sorted(name + "*" * route.prefix for name, route in _routes.items()))


def find_scorer(data_source: object) -> ScoreFn:
    """The scorer of a data source.

    Raises:
        RequestError: There is none; names the nearest.
    """
    if isinstance(data_source, str):
        route = _routes.get(data_source)
        if route is not None:
            return route.scorer
        heads = [n for n, r in _routes.items() if r.prefix and data_source.startswith(n)]
        if heads:
            return _routes[max(heads, key=len)].scorer
    hint = nearest(str(data_source), known_sources())
    raise RequestError(
        "data_source",
        f"no scorer is registered for {data_source!r}; {hint} (or call register_scorer)",
    )


def default_compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> float | dict[str, Any]:
    """Score one sample by its data source, with verl's signature.

    Args:
        data_source: Chooses the scorer.
        solution_str: The response's text.
        ground_truth: As the data set has it.
        extra_info: The row's other facts.
        **kwargs: For the scorer. The code sources take `server`, `sandbox_fusion_url`,
            `memory_limit_mb`, `on_unavailable`, `backend`, `accept`, `slots`, `client_id`,
            `max_time_limit_hits` and `total_cpu_time_s` (see `scoring.training`); verl's
            `concurrent_semaphore` is accepted and not needed, the gateway bounds itself. Our own
            other scorers take none: `functools.partial` and `register_scorer` set theirs.

    Returns:
        A float, or a dict with `score` (the code sources: exactly `EXTRA_KEYS`). Where the data is
        broken, a dict of `EXTRA_KEYS` whose `valid` is 0.

    Raises:
        RequestError: Nothing is registered for this source; names the nearest.
        ConfigError: A setting is wrong, or an extra is not installed.
        InfraError: There is no score, by the machinery's fault: verl has no value that says so.
    """
    try:
        return _score(data_source, solution_str, ground_truth, extra_info, kwargs)
    except SuiteError as error:
        return broken_data(str(error)).extra_info()


async def default_compute_score_async(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> float | dict[str, Any]:
    """`default_compute_score` on an event loop: coroutine functions are awaited, others may block.

    A scorer that is not a coroutine function runs in a thread, but for our own quick ones.
    """
    try:
        return await _ascore(data_source, solution_str, ground_truth, extra_info, kwargs)
    except SuiteError as error:
        return broken_data(str(error)).extra_info()


def _score(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None,
    kwargs: Mapping[str, Any],
) -> float | dict[str, Any]:
    """As `default_compute_score`; broken data raises SuiteError."""
    scorer = find_scorer(data_source)
    call = functools.partial(
        scorer, data_source, solution_str, ground_truth, extra_info, **_settings(scorer, kwargs)
    )
    return _shaped(run_apart(_awaited(call)) if _is_async(scorer) else call())


async def _ascore(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None,
    kwargs: Mapping[str, Any],
) -> float | dict[str, Any]:
    scorer = find_scorer(data_source)
    twin = _score_code_async if scorer is _score_code else scorer
    call = functools.partial(
        twin, data_source, solution_str, ground_truth, extra_info, **_settings(scorer, kwargs)
    )
    if _is_async(twin):
        return _shaped(await call())
    if getattr(scorer, "quick", False):
        return _shaped(call())
    return _shaped(await asyncio.to_thread(call))


def _settings(scorer: ScoreFn, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    # As in verl: the sandbox's settings are bound for all sources, and mean nothing to the others.
    dropped = _REWARD_MODEL_SETTINGS if scorer is _score_code else _CODE_SETTINGS
    if isinstance(scorer, _AnswerScorer):
        dropped |= _REWARD_MODEL_SETTINGS
    return {key: value for key, value in kwargs.items() if key not in dropped}


def _is_async(scorer: ScoreFn) -> bool:
    while isinstance(scorer, functools.partial):
        scorer = scorer.func
    return inspect.iscoroutinefunction(scorer) or inspect.iscoroutinefunction(
        getattr(scorer, "__call__", None)  # noqa: B004 - an object with an async __call__
    )


async def _awaited(call: Callable[[], Awaitable[Any]]) -> Any:
    return await call()


def _shaped(answer: Any) -> float | dict[str, Any]:
    record = from_value(answer, where="result")
    if record.infra_error:
        raise InfraError(record.error)
    return dict(answer) if isinstance(answer, Mapping) else record.score


@dataclass(frozen=True, slots=True)
class _AnswerScorer:
    """A function of the response and the ground truth, called as a scorer is.

    Attributes:
        score: The function, or the module of ours whose `compute_score` it is.
        quick: It may run on an event loop.
    """

    score: Callable[..., Any] | str
    quick: bool = False

    def __call__(
        self,
        data_source: str,
        solution_str: str | bytes,
        ground_truth: object,
        extra_info: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Score one sample."""
        del extra_info
        for key in kwargs:
            raise ConfigError(
                f"{key}= is not an argument of the scorer of {data_source!r}; set it with "
                "register_scorer(source, answer_scorer(functools.partial(...)), replace=True)"
            )
        score = self.score
        if isinstance(score, str):
            score = importlib.import_module(f"verifier.scoring.{score}").compute_score
        text = to_text(solution_str) if isinstance(solution_str, bytes) else solution_str
        return score(text, ground_truth)


def answer_scorer(score: Callable[[str, Any], Any]) -> ScoreFn:
    """The scorer that a function `score(solution_str, ground_truth)` makes.

    On an event loop it runs in a thread.
    """
    return _AnswerScorer(score)


class DefaultScorer:
    """`default_compute_score` for whole batches: the code samples of a batch go over one stream.

    Args:
        **kwargs: As of `default_compute_score`; bound into every call.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._code = code_scorer(**kwargs)
        self.on_unavailable = self._code.on_unavailable
        self.stats = self._code.stats

    def __call__(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: object,
        extra_info: Mapping[str, Any] | None = None,
    ) -> float | dict[str, Any]:
        """Score one sample.

        Raises:
            SuiteError: Its data is broken.
            VerifierError: As of `default_compute_score`.
        """
        return _score(data_source, solution_str, ground_truth, extra_info, self._kwargs)

    async def ascore(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: object,
        extra_info: Mapping[str, Any] | None = None,
    ) -> float | dict[str, Any]:
        """The same, on an event loop."""
        return await _ascore(data_source, solution_str, ground_truth, extra_info, self._kwargs)

    def batches(self, sample: Sample) -> bool:
        """Whether a sample's scorer takes batches.

        Raises:
            RequestError: Nothing is registered for its source; names the sample and the nearest
                sources.
        """
        try:
            return find_scorer(sample.data_source) is _score_code
        except RequestError as error:
            raise RequestError(f"samples[{sample.index}].{error.field}", error.problem) from None

    def score_batch(self, samples: Sequence[Sample]) -> list[Result]:
        """Score code samples over one stream; results in order.

        Raises:
            InfraError: A sample could not be scored and the policy is not "mask".
        """
        return self._code.score_batch(samples)

    async def ascore_batch(self, samples: Sequence[Sample]) -> list[Result]:
        """`score_batch`, on an event loop."""
        return await self._code.ascore_batch(samples)


def code_scorer(
    *,
    server: str | None = None,
    sandbox_fusion_url: str | None = None,
    memory_limit_mb: float | None = None,
    concurrent_semaphore: object = None,
    on_unavailable: str | OnUnavailable = OnUnavailable.FALLBACK,
    backend: str = "namespaces",
    accept: Collection[str] = (),
    slots: int | None = None,
    client_id: str = "",
    max_time_limit_hits: int | None = None,
    total_cpu_time_s: float | None = None,
) -> SandboxScorer:
    """The sandbox scorer with these settings, as training uses it; one per process and settings.

    Raises:
        ConfigError: A setting is wrong, or two of them name different gateways.
    """
    del concurrent_semaphore
    address = parse_server(server)
    legacy = parse_server(sandbox_fusion_url)
    if address and legacy and address != legacy:
        raise ConfigError(f"server={server!r} and sandbox_fusion_url={sandbox_fusion_url!r} differ")
    memory_bytes = int(memory_limit_mb * 1024 * 1024) if memory_limit_mb else None
    policy = OnUnavailable.parse(on_unavailable)
    stops = training_policy(max_time_limit_hits, total_cpu_time_s)
    key = (
        address or legacy,
        policy,
        backend,
        frozenset(accept),
        slots,
        memory_bytes,
        client_id,
        stops,
    )
    with _scorers_lock:
        if key not in _scorers:
            _scorers[key] = SandboxScorer(
                address or legacy,
                on_unavailable=policy,
                backend=backend,
                accept=frozenset(accept),
                slots=slots,
                limits=LimitOverrides(memory_bytes=memory_bytes),
                client_id=client_id,
                policy=stops,
                priority=TRAINING_PRIORITY,
            )
        return _scorers[key]


_CODE_SETTINGS = frozenset(inspect.signature(code_scorer).parameters)

_scorers: dict[tuple[object, ...], SandboxScorer] = {}
_scorers_lock = threading.Lock()


def _score_code(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    return _code_scorer_for(data_source, kwargs)(
        data_source, solution_str, ground_truth, extra_info
    )


async def _score_code_async(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    scorer = _code_scorer_for(data_source, kwargs)
    result = await scorer.ascore(solution_str, ground_truth, extra_info=extra_info)
    return from_result(result).extra_info()


def _code_scorer_for(data_source: str, settings: dict[str, Any]) -> SandboxScorer:
    try:
        return code_scorer(**settings)
    except TypeError as error:  # an argument that the code scorer does not have
        raise ConfigError(f"default_compute_score for {data_source!r}: {error}") from None


for _source in CODE_SOURCES:
    register_scorer(_source, _score_code)
for _source, _module in _ANSWER_SOURCES.items():
    register_scorer(
        _source.rstrip("*"),
        _AnswerScorer(_module, quick=_module not in _IN_A_WORKER),
        prefix=_source.endswith("*"),
    )
