"""OpenRLHF's remote reward: an HTTP server of its shape, and the function of its other form.

    python -m verifier.integrations.openrlhf --server 127.0.0.1:50051 --bind 127.0.0.1:5000
    --reward.remote_url http://127.0.0.1:5000/get_reward

The trainer posts `{"query": [...], "prompts": [...], "labels": [...]}` and reads
`{"rewards": [...], "scores": [...], "extra_logs": {name: [...]}}`. A query is the prompt with the
response, special tokens included: the prompt is cut off, so that a program in the prompt is never
scored, and so are the special tokens at the end, which else stick to a closing fence. Labels are
the ground truths, as text; `--data.label_key` names their column.

There is no place for a sample without a score: what could not be scored is answered with status
503, which the trainer asks again, and broken data with 422, naming the sample; never with a 0.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verifier.errors import ConfigError, InfraError, RequestError, VerifierError
from verifier.integrations.scorer import Scorer
from verifier.scoring.record import ScoreRecord
from verifier.scoring.unavailable import OnUnavailable

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

SPECIAL_TOKENS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|return|>",
    "</s>",
    "<eos>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",  # noqa: RUF001 - DeepSeek's own characters
    "<pad>",
    "<|pad|>",
)
"""What is cut off the end of a query; the ends of turns and padding of common models."""

LOGGED = ("acc", "passed", "total", "cpu_time_ms", "latency_ms", "fallback")
"""Columns of the record that go to `extra_logs`: numbers, the trainer makes tensors of them."""


def responses_of(
    queries: Sequence[str], prompts: Sequence[str], special_tokens: Sequence[str] = SPECIAL_TOKENS
) -> list[str]:
    """The responses in queries.

    Raises:
        RequestError: A query does not have its prompt in it; names it.
    """
    if len(prompts) != len(queries):
        raise RequestError("prompts", f"{len(prompts)} for {len(queries)} queries")
    responses = []
    for i, (query, prompt) in enumerate(zip(queries, prompts, strict=True)):
        # Decoding may have changed the blanks at the ends, and put a first token before it.
        asked = prompt.strip()
        start = query.find(asked)
        if start < 0:
            raise RequestError(
                f"query[{i}]",
                "the prompt is not in it, so the response is not known (a truncated prompt?)",
            )
        responses.append(_cut(query[start + len(asked) :], special_tokens))
    return responses


def reward_answer(records: Sequence[ScoreRecord]) -> dict[str, Any]:
    """The answer: `rewards` and `scores` in [0, 1], lists in the order of the queries.

    Raises:
        RequestError: The ground truth of a sample is broken; names it.
        InfraError: A sample could not be scored.
    """
    for i, record in enumerate(records):
        if not record.valid:
            problem = f"{record.outcome}: {record.error}"
            if record.infra_error:
                raise InfraError(f"query[{i}]: {problem}")
            raise RequestError(f"labels[{i}]", problem)
    rewards = [record.score for record in records]
    logs = {f"verifier_{key}": [float(getattr(r, key)) for r in records] for key in LOGGED}
    return {"rewards": rewards, "scores": list(rewards), "extra_logs": logs}


def read_request(body: object) -> tuple[list[str], list[str], list[str]]:
    """Queries, prompts and labels of a request.

    Raises:
        RequestError: A field is missing or no list of texts; names it.
    """
    if not isinstance(body, Mapping):
        raise RequestError("body", "expected a JSON object")
    columns = []
    for key in ("query", "prompts", "labels"):
        column = body.get(key)
        if not isinstance(column, list) or not all(isinstance(text, str) for text in column):
            raise RequestError(key, "expected a list of texts")
        columns.append(column)
    queries, prompts, labels = columns
    if len(labels) != len(queries):
        raise RequestError("labels", f"{len(labels)} for {len(queries)} queries")
    return queries, prompts, labels


def reward_app(
    server: str | None = None,
    *,
    on_unavailable: str | OnUnavailable = OnUnavailable.MASK,
    special_tokens: Sequence[str] = SPECIAL_TOKENS,
    **settings: Any,
) -> Starlette:
    """The server, as an ASGI application: `POST /get_reward`.

    Args:
        server: "HOST:PORT" of a gateway, or None to score on this host.
        on_unavailable: "mask" and "raise" answer 503 for what could not be scored, "fallback"
            scores it on this host.
        special_tokens: Cut off the end of a query.
        **settings: Of `SandboxScorer`.

    Raises:
        ConfigError: A setting is wrong.
    """
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    scorer = Scorer(server, on_unavailable=on_unavailable, **settings)

    async def get_reward(request: Request) -> Response:
        try:
            queries, prompts, labels = read_request(json.loads(await request.body()))
            responses = responses_of(queries, prompts, special_tokens)
            return JSONResponse(reward_answer(await scorer.arecords(responses, labels)))
        except (RequestError, ValueError, RecursionError) as error:
            return JSONResponse({"error": f"{type(error).__name__}: {error}"}, status_code=422)
        except VerifierError as error:
            return JSONResponse({"error": f"{type(error).__name__}: {error}"}, status_code=503)

    return Starlette(routes=[Route("/get_reward", get_reward, methods=["POST"])])


class RewardFunction:
    """`reward_func(queries, prompts, labels)` for a file that `--reward.remote_url` names.

    Args:
        server: "HOST:PORT" of a gateway, or None to score on this host.
        on_unavailable: "mask" and "raise" raise for what could not be scored (the trainer logs it
            and has no reward for that sample), "fallback" scores it on this host.
        special_tokens: Cut off the end of a query.
        **settings: Of `SandboxScorer`.

    Raises:
        ConfigError: A setting is wrong.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        on_unavailable: str | OnUnavailable = OnUnavailable.MASK,
        special_tokens: Sequence[str] = SPECIAL_TOKENS,
        **settings: Any,
    ) -> None:
        self.scorer = Scorer(server, on_unavailable=on_unavailable, **settings)
        self._special_tokens = tuple(special_tokens)

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[str], **kwargs: Any
    ) -> dict[str, Any]:
        """Rewards and scores, float32 tensors (n,), and logs of the same shape.

        Raises:
            RequestError: A query has no prompt in it, or a ground truth is broken.
            InfraError: Something could not be scored.
        """
        import torch

        del kwargs
        responses = responses_of(queries, prompts, self._special_tokens)
        answer = reward_answer(self.scorer.records(responses, labels))
        return {
            "rewards": torch.tensor(answer["rewards"]),
            "scores": torch.tensor(answer["scores"]),
            "extra_logs": {key: torch.tensor(v) for key, v in answer["extra_logs"].items()},
        }


def _cut(response: str, special_tokens: Sequence[str]) -> str:
    while True:
        bare = response.rstrip()
        ending = next((token for token in special_tokens if token and bare.endswith(token)), None)
        if ending is None:
            return response
        response = bare.removesuffix(ending)


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    parser = argparse.ArgumentParser(description="OpenRLHF's remote reward, by running programs.")
    parser.add_argument("--server", metavar="HOST:PORT", help="a gateway; without it, this host")
    parser.add_argument("--bind", default="127.0.0.1:5000", metavar="HOST:PORT")
    parser.add_argument("--on-unavailable", default="mask", choices=["mask", "raise", "fallback"])
    parser.add_argument(
        "--insecure-bind",
        action="store_true",
        help="allow an address that other machines can reach, with no authentication",
    )
    options = parser.parse_args(argv)
    try:
        host, port = _address(options.bind, insecure=options.insecure_bind)
        app = reward_app(options.server, on_unavailable=options.on_unavailable)
    except ConfigError as error:
        parser.error(str(error))
    uvicorn.run(app, host=host, port=port, log_level="info")


def _address(bind: str, *, insecure: bool) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal():
        raise ConfigError(f"--bind {bind!r} is not HOST:PORT")
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not local and not insecure:
        raise ConfigError(f"--bind {bind}: other machines reach it; --insecure-bind allows that")
    return host, int(port)


if __name__ == "__main__":
    main()
