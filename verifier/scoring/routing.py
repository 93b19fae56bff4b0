"""Which scorer scores which data source: verl's `default_compute_score` with an open table.

    register_scorer("my/data-set", my_compute_score)      # verl's signature; that is all

A scorer is called as `scorer(data_source, solution_str, ground_truth, extra_info, **kwargs)` and
returns a number, a `(score, metadata)` pair or a dict. The four code sources go through
`SandboxScorer`: to the gateway that `server=` (or `sandbox_fusion_url=verifier://HOST:PORT`) names,
else to the engine on this host.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verifier.errors import ConfigError, InfraError, RequestError
from verifier.scoring.record import from_value
from verifier.scoring.sample import Sample, nearest
from verifier.scoring.sandbox import SandboxScorer, parse_server
from verifier.scoring.unavailable import OnUnavailable
from verifier.types import LimitOverrides, Result

ScoreFn = Callable[..., Any]

CODE_SOURCES = ("codecontests", "apps", "codeforces", "taco")


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
            `memory_limit_mb`, `on_unavailable`, `backend`, `accept`, `slots`; verl's
            `concurrent_semaphore` is accepted and not needed, the gateway bounds itself.

    Returns:
        A float, or a dict with `score` (the code sources: exactly `EXTRA_KEYS`; `valid` is 0 where
        the data is broken).

    Raises:
        RequestError: Nothing is registered for this source; names the nearest.
        InfraError: There is no score, by the machinery's fault: verl has no value that says so.
    """
    scorer = find_scorer(data_source)
    if scorer is not _score_code:
        # As in verl: the sandbox's settings are bound for all sources, and mean nothing to the
        # others.
        kwargs = {key: value for key, value in kwargs.items() if key not in _CODE_SETTINGS}
    answer = scorer(data_source, solution_str, ground_truth, extra_info, **kwargs)
    record = from_value(answer, where="result")
    if record.infra_error:
        raise InfraError(record.error)
    return dict(answer) if isinstance(answer, Mapping) else record.score


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
        """Score one sample."""
        return default_compute_score(
            data_source, solution_str, ground_truth, extra_info, **self._kwargs
        )

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
) -> SandboxScorer:
    """The sandbox scorer with these settings; one per process and settings.

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
    key = (address or legacy, policy, backend, frozenset(accept), slots, memory_bytes)
    with _scorers_lock:
        if key not in _scorers:
            _scorers[key] = SandboxScorer(
                address or legacy,
                on_unavailable=policy,
                backend=backend,
                accept=frozenset(accept),
                slots=slots,
                limits=LimitOverrides(memory_bytes=memory_bytes),
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
    try:
        scorer = code_scorer(**kwargs)
    except TypeError as error:  # an argument that the code scorer does not have
        raise ConfigError(f"default_compute_score for {data_source!r}: {error}") from None
    return scorer(data_source, solution_str, ground_truth, extra_info)


for _source in CODE_SOURCES:
    register_scorer(_source, _score_code)
