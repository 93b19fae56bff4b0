"""A reward model's server for tests: real HTTP, real tensors, no GPU, nothing downloaded.

    python -m verifier.testing.reward_model [--port 0] [--seed 0] [--save FOLDER]

A tiny Llama classifier with random weights of a fixed seed, made on the spot, with a byte-level
tokenizer that has a chat template. It answers in the exact shapes of the real servers: vLLM's
`/classify`, SGLang's `/v1/embeddings`, OpenAI's `/v1/chat/completions` (streaming too), and the
calls `/health`, `/sleep`, `/wake_up`, `/is_sleeping`. Needs torch, transformers and aiohttp.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import time
import uuid
from pathlib import Path
from typing import Any

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<eos>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_SPECIAL = ["<pad>", "<bos>", "<eos>"]


def make_tokenizer() -> Any:
    """A byte-level tokenizer of transformers: a byte is a token, and the chat template above."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*_SPECIAL, *alphabet])}
    bare = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=bare,
        **dict(zip(("pad_token", "bos_token", "eos_token"), _SPECIAL, strict=True)),
        chat_template=CHAT_TEMPLATE,
    )


class TinyRewardModel:
    """The classifier.

    Args:
        seed: Of its weights: two servers with one seed are replicas of one model.
    """

    def __init__(self, seed: int = 0) -> None:
        import torch
        from transformers import LlamaConfig, LlamaForSequenceClassification

        torch.set_num_threads(1)
        self.tokenizer = make_tokenizer()
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=len(self.tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=4096,
            num_labels=1,
            pad_token_id=self.tokenizer.pad_token_id,
        )
        self._torch = torch
        self._model = LlamaForSequenceClassification(config).eval()

    def score(self, text: str) -> tuple[float, int]:
        """The logit of a text, and its number of tokens."""
        ids = self.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        with self._torch.inference_mode():
            logits = self._model(input_ids=ids[:, -4096:]).logits
        return float(logits[0, 0]), int(ids.shape[1])

    def save(self, folder: Path) -> None:
        """Save the tokenizer, as `reward_model.model_path` would have it."""
        self.tokenizer.save_pretrained(str(folder))


class Server:
    """The HTTP side.

    Args:
        model: The model.
        name: What answers call it.
    """

    def __init__(self, model: TinyRewardModel, name: str = "tiny-reward-model") -> None:
        self._model = model
        self._name = name
        self._asleep = False
        self.requests = 0

    def app(self) -> Any:
        """The aiohttp application."""
        from aiohttp import web

        app = web.Application()
        app.router.add_get("/health", self._health)
        app.router.add_post("/classify", self._classify)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/sleep", self._sleep)
        app.router.add_post("/wake_up", self._wake_up)
        app.router.add_post("/release_memory_occupation", self._sleep)
        app.router.add_post("/resume_memory_occupation", self._wake_up)
        app.router.add_get("/is_sleeping", self._is_sleeping)
        app.router.add_get("/requests", self._requests)
        return app

    async def _health(self, request: Any) -> Any:
        from aiohttp import web

        del request
        return web.Response()

    async def _requests(self, request: Any) -> Any:
        from aiohttp import web

        del request
        return web.json_response({"requests": self.requests})

    async def _sleep(self, request: Any) -> Any:
        from aiohttp import web

        del request
        self._asleep = True
        return web.Response()

    async def _wake_up(self, request: Any) -> Any:
        from aiohttp import web

        del request
        self._asleep = False
        return web.Response()

    async def _is_sleeping(self, request: Any) -> Any:
        from aiohttp import web

        del request
        return web.json_response({"is_sleeping": self._asleep})

    async def _input(self, request: Any) -> tuple[dict[str, Any], list[tuple[float, int]]]:
        from aiohttp import web

        self.requests += 1
        if self._asleep:
            raise web.HTTPServiceUnavailable(text=json.dumps({"error": "the model is asleep"}))
        body = await request.json()
        given = body.get("input")
        texts = given if isinstance(given, list) else [given]
        if not all(isinstance(text, str) and text for text in texts):
            message = {
                "message": "input: expected a string",
                "type": "BadRequestError",
                "code": 400,
            }
            raise web.HTTPBadRequest(text=json.dumps({"error": message}))
        loop = asyncio.get_running_loop()
        return body, [await loop.run_in_executor(None, self._model.score, t) for t in texts]

    async def _classify(self, request: Any) -> Any:
        from aiohttp import web

        body, scores = await self._input(request)
        activate = body.get("use_activation", True)
        return web.json_response(
            {
                "id": f"classify-{uuid.uuid4().hex}",
                "object": "list",
                "created": int(time.time()),
                "model": body.get("model", self._name),
                "data": [
                    {
                        "index": i,
                        "label": "LABEL_0",
                        "probs": [_sigmoid(score) if activate else score],
                        "num_classes": 1,
                    }
                    for i, (score, _) in enumerate(scores)
                ],
                "usage": _usage(sum(n for _, n in scores), 0),
            }
        )

    async def _embeddings(self, request: Any) -> Any:
        from aiohttp import web

        body, scores = await self._input(request)
        return web.json_response(
            {
                "object": "list",
                "data": [
                    {"object": "embedding", "embedding": [score], "index": i}
                    for i, (score, _) in enumerate(scores)
                ],
                "model": body.get("model", self._name),
                "usage": _usage(sum(n for _, n in scores), 0),
            }
        )

    async def _chat(self, request: Any) -> Any:
        """A judge: its answer is the score of the chat, as text."""
        from aiohttp import web

        self.requests += 1
        if self._asleep:
            raise web.HTTPServiceUnavailable(text=json.dumps({"error": "the model is asleep"}))
        body = await request.json()
        text = self._model.tokenizer.apply_chat_template(body["messages"], tokenize=False)
        loop = asyncio.get_running_loop()
        score, tokens = await loop.run_in_executor(None, self._model.score, text)
        words = ["Score: ", f"{score:.6f}"]
        head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": body.get("model", self._name),
        }
        if not body.get("stream"):
            message = {"role": "assistant", "content": "".join(words)}
            choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
            return web.json_response(
                {
                    **head,
                    "object": "chat.completion",
                    "choices": [choice],
                    "usage": _usage(tokens, len(words)),
                }
            )
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant"}, None)]
        deltas += [({"content": word}, None) for word in words]
        deltas += [({}, "stop")]
        for delta, reason in deltas:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            event = {**head, "object": "chat.completion.chunk", "choices": [choice]}
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def _sigmoid(x: float) -> float:
    import math

    return 1 / (1 + math.exp(-x))


def _usage(prompt: int, completion: int) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": None,
    }


async def _serve(server: Server, host: str, port: int) -> None:
    from aiohttp import web

    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    try:
        await web.TCPSite(runner, host, port).start()
        print(f"reward model listening on {host}:{runner.addresses[0][1]}", flush=True)  # noqa: T201 - who started this reads it
        await stop.wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="A tiny reward model behind real HTTP, for tests.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="save the tokenizer there and go on")
    args = parser.parse_args()
    model = TinyRewardModel(args.seed)
    if args.save is not None:
        model.save(args.save)
    asyncio.run(_serve(Server(model), args.host, args.port))


if __name__ == "__main__":
    main()
