"""A scorer for anyone's training loop: responses and ground truths in, numbers or None out.

No tensors, no framework. None is for what could not be scored, the machinery's fault or broken
data: never 0.0, which a loop would learn from. The modules beside this one put it in the shape of
one trainer each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifier.errors import InfraError, RequestError
from verifier.scoring.record import ScoreRecord, from_result
from verifier.scoring.sample import Sample
from verifier.scoring.sandbox import SandboxScorer
from verifier.scoring.training import TRAINING_PRIORITY, training_policy
from verifier.scoring.unavailable import OnUnavailable


class Scorer:
    """Scores code by running it, many responses over one stream.

    Args:
        server: "HOST:PORT" of a gateway, or None to score on this host.
        on_unavailable: "mask" gives None for what could not be scored, "raise" raises when the
            rest of the batch is done, "fallback" scores on this host meanwhile.
        max_time_limit_hits: See `verifier.scoring.training`; so is the next.
        total_cpu_time_s: See there.
        **settings: Of `SandboxScorer`: backend, accept, slots, limits, deadline_s, client_id, ...

    Raises:
        ConfigError: A setting is wrong.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        on_unavailable: str | OnUnavailable = OnUnavailable.MASK,
        max_time_limit_hits: int | None = None,
        total_cpu_time_s: float | None = None,
        **settings: Any,
    ) -> None:
        settings.setdefault("policy", training_policy(max_time_limit_hits, total_cpu_time_s))
        settings.setdefault("priority", TRAINING_PRIORITY)
        self.sandbox = SandboxScorer(server, on_unavailable=on_unavailable, **settings)

    def __call__(
        self, responses: Sequence[object], ground_truths: Sequence[object]
    ) -> list[float | None]:
        """Scores in [0, 1], in order; see `records`."""
        return numbers(self.records(responses, ground_truths))

    async def ascore(
        self, responses: Sequence[object], ground_truths: Sequence[object]
    ) -> list[float | None]:
        """The same, on an event loop."""
        return numbers(await self.arecords(responses, ground_truths))

    def records(
        self,
        responses: Sequence[object],
        ground_truths: Sequence[object],
        *,
        extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
        groups: Sequence[object] | None = None,
    ) -> list[ScoreRecord]:
        """Score responses; a record for each, in order, with `valid` 0 where there is no score.

        Args:
            responses: Texts, or conversations as `response_text` reads them.
            ground_truths: Test cases, in any format of `verifier.testcases`.
            extra_infos: Rows' other facts; the key "verifier" may hold `CallOptions`.
            groups: Ids of prompts: a group that two scorers shared is reported.

        Raises:
            InfraError: Something could not be scored, and the policy is not "mask".
            RequestError: The lengths differ, or a response is no text; names it.
        """
        samples = make_samples(responses, ground_truths, extra_infos, groups)
        return [from_result(result) for result in self.sandbox.score_batch(samples)]

    async def arecords(
        self,
        responses: Sequence[object],
        ground_truths: Sequence[object],
        *,
        extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
        groups: Sequence[object] | None = None,
    ) -> list[ScoreRecord]:
        """`records`, on an event loop."""
        samples = make_samples(responses, ground_truths, extra_infos, groups)
        return [from_result(result) for result in await self.sandbox.ascore_batch(samples)]

    def close(self) -> None:
        """Free the synchronous client's channel."""
        self.sandbox.close()

    async def aclose(self) -> None:
        """Free the asynchronous client's channel."""
        await self.sandbox.aclose()


def numbers(records: Sequence[ScoreRecord]) -> list[float | None]:
    """Scores, None where there is none."""
    return [record.score if record.valid else None for record in records]


def number(record: ScoreRecord) -> float:
    """The score, for frameworks that have no place for None.

    Raises:
        InfraError: There is none, by the machinery's fault.
        RequestError: There is none, by the data's.
    """
    if record.infra_error:
        raise InfraError(f"{record.outcome}: {record.error}")
    if not record.valid:
        raise RequestError("ground_truth", f"{record.outcome}: {record.error}")
    return record.score


def make_samples(
    responses: Sequence[object],
    ground_truths: Sequence[object],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    groups: Sequence[object] | None = None,
) -> list[Sample]:
    """Columns as samples.

    Raises:
        RequestError: The lengths differ, or a response is no text; names it.
    """
    n = len(responses)
    named = {"ground_truths": ground_truths, "extra_infos": extra_infos, "groups": groups}
    for name, column in named.items():
        if column is not None and len(column) != n:
            raise RequestError(name, f"{len(column)} values for {n} responses")
    return [
        Sample(
            data_source="",
            solution_str=response_text(response, f"responses[{i}]"),
            ground_truth=ground_truths[i],
            extra_info=(extra_infos[i] or {}) if extra_infos is not None else {},
            group=groups[i] if groups is not None else None,
            index=i,
        )
        for i, response in enumerate(responses)
    ]


def response_text(response: object, where: str = "response") -> str:
    """The model's last words: a text, or a conversation's last message of the assistant.

    Messages are mappings or objects with `role` and `content`; a content is a text, or parts of
    which those with a `text` count. A conversation in which the assistant said nothing is "".

    Raises:
        RequestError: It is neither.
    """
    if isinstance(response, str):
        return response
    if isinstance(response, Sequence) and not isinstance(response, (bytes, bytearray)):
        for message in reversed(response):
            role = _get(message, "role")
            if role is None:
                raise RequestError(where, "a message without a role")
            if role == "assistant":
                return _content(_get(message, "content"))
        return ""
    raise RequestError(where, f"a {type(response).__name__}, expected a text or messages")


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    texts = (_get(part, "text") for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _get(thing: object, key: str) -> object:
    return thing.get(key) if isinstance(thing, Mapping) else getattr(thing, key, None)
