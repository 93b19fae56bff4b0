"""The default scorer on an event loop: code samples of a call go over one stream."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from verifier.scoring.routing import DefaultScorer, code_scorer
from verifier.scoring.sample import Sample
from verifier.types import Result


class AsyncBatchScorer(Protocol):
    """A scorer that takes many samples at once, on an event loop."""

    async def ascore_batch(self, samples: Sequence[Sample]) -> Sequence[Any]:
        """Score samples; a Result, number, pair or dict for each, in order."""
        ...


class AsyncDefaultScorer(DefaultScorer):
    """`DefaultScorer` with a twin of `score_batch`; its arguments are the same."""

    async def ascore_batch(self, samples: Sequence[Sample]) -> list[Result]:
        """`score_batch`, on an event loop."""
        return await self._code.ascore_batch(samples)


def local_scorer(accept: Collection[str] = ()) -> AsyncBatchScorer:
    """The scorer of the engine on this host."""
    return code_scorer(accept=accept)
