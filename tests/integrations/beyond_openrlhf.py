"""Runs where `pip install --no-deps openrlhf` was: its executor asks our server, and our function.
Prints JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import uvicorn
from openrlhf.utils.agent import SingleTurnAgentExecutor
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from verifier.integrations.openrlhf import reward_app

RIGHT = "```python\nprint(sum(map(int, input().split())))\n```<|im_end|>"
PROMPT = "Print the sum.\n"
TRUTH = json.dumps({"inputs": ["1 2\n"], "outputs": ["3\n"]})
FUNCTION = """
from verifier.integrations.openrlhf import RewardFunction

reward_func = RewardFunction(None, accept={accept!r})
"""


def make_tokenizer() -> PreTrainedTokenizerFast:
    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<pad>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bare.train_from_iterator([PROMPT], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bare, eos_token="<|im_end|>")


TOKENIZER = make_tokenizer()


class Engine:
    """Says one thing, in the place of vLLM."""

    def __init__(self, text: str) -> None:
        self._ids = TOKENIZER(text, add_special_tokens=False)["input_ids"]

    async def generate(self, *args: Any, **kwargs: Any) -> SimpleNamespace:
        output = SimpleNamespace(token_ids=self._ids, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


async def roll_out(endpoint: str, text: str, label: str) -> dict[str, Any]:
    executor = SingleTurnAgentExecutor(endpoint)
    params = SimpleNamespace(max_tokens=64, logprobs=None)
    said = await executor.execute(PROMPT, label, params, 512, TOKENIZER, Engine(text))
    logs = {key: [float(v) for v in values] for key, values in said["extra_logs"].items()}
    reward = said["reward"]
    return {
        "reward": None if reward is None else [float(value) for value in reward],
        "scores": None if said["scores"] is None else [float(value) for value in said["scores"]],
        "acc": logs.get("verifier_acc"),
    }


async def main() -> None:
    accept = sys.argv[1:]
    app = reward_app(None, accept=accept)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}/get_reward"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reward.py"
        file.write_text(FUNCTION.format(accept=accept))
        answers = [
            await roll_out(url, RIGHT, TRUTH),
            await roll_out(url, "no code", TRUTH),
            await roll_out(str(file), RIGHT, TRUTH),
            await roll_out(str(file), RIGHT, "{}"),
        ]
    server.should_exit = True
    thread.join()
    sys.stdout.write("ANSWER " + json.dumps(answers) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
