"""Scores of a discriminative reward model, from vLLM's `/classify` or SGLang's `/v1/embeddings`.

The conversation (`raw_prompt`) and the response go through the reward model's own chat template.
The last number of the last item is the score, as verl reads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verifier.errors import ConfigError, InfraError, RequestError
from verifier.reward_loop.http import ATTEMPTS, need_aiohttp, post_json
from verifier.rewards.base import Batch, Tokenizer
from verifier.rewards.reading import decode, read_layout
from verifier.scoring.record import ScoreRecord, as_number

_Shape = tuple[str, dict[str, Any], Callable[[Any], Any]]


def _vllm(model: str, text: str) -> _Shape:
    payload = {"model": model, "input": text, "use_activation": False}
    return "classify", payload, lambda answer: answer["data"][-1]["probs"][-1]


def _sglang(model: str, text: str) -> _Shape:
    payload = {"model": model, "input": text}
    return "v1/embeddings", payload, lambda answer: answer["data"][-1]["embedding"][-1]


ENGINES: dict[str, Callable[[str, str], _Shape]] = {"vllm": _vllm, "sglang": _sglang}


class DisrmClient:
    """Asks a reward model for scores.

    Args:
        router_address: "HOST:PORT" of the router, or of the one server.
        model: What requests name.
        engine: "vllm" or "sglang".
        tokenizer: Of the policy; decodes responses.
        reward_model_tokenizer: Of the reward model; has its chat template.
        attempts: How often a request is tried.

    Raises:
        ConfigError: The engine is neither, or there is no model.
    """

    def __init__(
        self,
        router_address: str,
        model: str | None,
        engine: str,
        tokenizer: Tokenizer,
        reward_model_tokenizer: Any,
        *,
        attempts: int = ATTEMPTS,
    ) -> None:
        if engine not in ENGINES:
            raise ConfigError(f"reward model engine {engine!r}; it is one of {sorted(ENGINES)}")
        if not model:
            raise ConfigError("reward_model.model_path is not set: requests have to name the model")
        self._address = router_address
        self._model = model
        self._engine = engine
        self._tokenizer = tokenizer
        self._rm_tokenizer = reward_model_tokenizer
        self._attempts = attempts
        self._session: tuple[asyncio.AbstractEventLoop, Any] | None = None

    def prompt(self, data: Batch) -> str:
        """The text that the model judges, of the last row of a batch.

        Raises:
            RequestError: The batch has no `raw_prompt`.
        """
        if "raw_prompt" not in data.non_tensor_batch:
            raise RequestError(
                "non_tensor_batch.raw_prompt", "missing: a reward model reads the chat"
            )
        layout = read_layout(data)
        ids, mask = data.batch["responses"], layout.response_mask
        (response,) = decode(self._tokenizer, ids[-1:], mask[-1:], skip_special_tokens=False)
        eos = getattr(self._tokenizer, "eos_token", None)
        if isinstance(eos, str) and eos:
            response = response.replace(eos, "")
        chat: Sequence[Any] = list(data.non_tensor_batch["raw_prompt"][-1])
        text = str(
            self._rm_tokenizer.apply_chat_template(
                [*chat, {"role": "assistant", "content": response}],
                add_generation_prompt=False,
                tokenize=False,
            )
        )
        bos = getattr(self._rm_tokenizer, "bos_token", None)
        # The server adds it again.
        return text.removeprefix(bos) if isinstance(bos, str) and bos else text

    async def compute_score_disrm(self, data: Batch) -> dict[str, Any]:
        """Score the last row of a batch.

        Returns:
            `{"reward_score": float, "reward_extra_info": {...}}` with exactly `EXTRA_KEYS`.

        Raises:
            RequestError: The row has no chat, or the server refused it.
            InfraError: There was no answer, or it is no number.
        """
        path, payload, read = ENGINES[self._engine](self._model, self.prompt(data))
        answer = await post_json(
            await self._open(),
            f"http://{self._address}/{path}",
            payload,
            attempts=self._attempts,
        )
        return {"reward_score": (score := _number(answer, read)), "reward_extra_info": _info(score)}

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session[1].close()
            self._session = None

    async def _open(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._session is None or self._session[0] is not loop:
            aiohttp = need_aiohttp()
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
            self._session = (loop, aiohttp.ClientSession(timeout=timeout))
        return self._session[1]


def _number(answer: Mapping[str, Any], read: Callable[[Any], Any]) -> float:
    try:
        number = as_number(read(answer))
    except (KeyError, IndexError, TypeError) as error:
        raise InfraError(
            f"the reward model answered in another shape: {type(error).__name__}: {error} "
            f"in {str(answer)[:200]}"
        ) from error
    if number is None:
        raise InfraError(f"the reward model answered no number: {str(answer)[:200]}")
    return number


def _info(score: float) -> dict[str, Any]:
    return ScoreRecord(score=score, acc=score, scorer="reward_model").extra_info()
