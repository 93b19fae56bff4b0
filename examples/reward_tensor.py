#!/usr/bin/env python3
"""Shows the tensor that a trainer gets: four responses are scored, each score lands on a token.

    python examples/reward_tensor.py                             in the embedded sandbox
    python examples/reward_tensor.py --server 127.0.0.1:50051    through a gateway

Trains nothing. Needs the extra `rl` (torch). On a host that cannot give a guarantee, the message
says which, and `--accept NAME` accepts that it is missing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from verifier.errors import VerifierError
from verifier.rewards import NaiveRewardManager, RewardBatch
from verifier.scoring import SandboxScorer, close_local_engines

PROMPT = "Read two integers and print their sum."
TESTS = json.dumps({"inputs": ["1 2\n", "10 -4\n", "0 0\n"], "outputs": ["3\n", "6\n", "0\n"]})
RESPONSES = {
    "right": "Sum them.\n```python\na, b = map(int, input().split())\nprint(a + b)\n```",
    "partly right": "```python\na, b = map(int, input().split())\nprint(abs(a) + abs(b))\n```",
    "crashes": "```python\nprint(int(input()))\n```",
    "no code": "I would read both and add them.",
}


class ByteTokenizer:
    """A byte is a token; 0 pads and 1 ends. Stands in where the package `tokenizers` is absent."""

    eos_token_id = 1

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""
        return [byte + 2 for byte in text.encode()]

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """Text of token ids."""
        del skip_special_tokens  # the two special tokens have no text
        return bytes(t - 2 for t in token_ids if t >= 2).decode(errors="replace")


class BpeTokenizer:
    """A byte-level BPE trained on the spot, on the texts of this example."""

    eos_token_id = 1

    def __init__(self, texts: Sequence[str]) -> None:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        self._bpe = Tokenizer(models.BPE())
        self._bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self._bpe.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<pad>", "<eos>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        self._bpe.train_from_iterator(texts, trainer)

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""
        ids: list[int] = self._bpe.encode(text).ids
        return ids

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """Text of token ids."""
        text: str = self._bpe.decode(list(token_ids), skip_special_tokens=skip_special_tokens)
        return text


def make_tokenizer() -> ByteTokenizer | BpeTokenizer:
    """The better of the two that this installation has."""
    try:
        return BpeTokenizer([PROMPT, *RESPONSES.values()])
    except ImportError:
        return ByteTokenizer()


def make_batch(tokenizer: ByteTokenizer | BpeTokenizer) -> RewardBatch:
    """What a rollout leaves behind: padded token ids, and the data set's columns."""
    n = len(RESPONSES)
    return RewardBatch.from_token_ids(
        [tokenizer.encode(PROMPT)] * n,
        [[*tokenizer.encode(text), tokenizer.eos_token_id] for text in RESPONSES.values()],
        non_tensor_batch={
            "data_source": ["taco"] * n,
            "reward_model": [{"ground_truth": TESTS}] * n,
            "uid": ["sum"] * n,
        },
    )


def main() -> None:
    """Score the batch and print what a trainer would get."""
    parser = argparse.ArgumentParser(description="Score four responses into a reward tensor.")
    parser.add_argument("--server", metavar="HOST:PORT", help="a gateway; without it, this host")
    parser.add_argument("--backend", default="namespaces", help="sandbox on this host")
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="NAME",
        help="a guarantee that may be missing",
    )
    args = parser.parse_args()

    tokenizer = make_tokenizer()
    batch = make_batch(tokenizer)
    scorer = SandboxScorer(args.server, backend=args.backend, accept=args.accept)
    try:
        answer = NaiveRewardManager(tokenizer, 0, scorer)(batch, return_dict=True)
    except VerifierError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from None
    finally:
        scorer.close()
        close_local_engines()

    tensor, info = answer["reward_tensor"], answer["reward_extra_info"]
    print(f"{type(tokenizer).__name__}; reward tensor {tuple(tensor.shape)} {tensor.dtype}")
    for name, row in zip(RESPONSES, tensor, strict=True):
        written = [(i, round(row[i].item(), 4)) for i in row.nonzero().flatten().tolist()]
        print(f"  {name:<13} {written or 'all zero'}")
    print("reward_extra_info")
    for key, column in info.items():
        shown = [round(v, 3) if isinstance(v, float) else v for v in column]
        print(f"  {key:<13} {shown}")


if __name__ == "__main__":
    main()
