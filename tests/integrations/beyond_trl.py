"""Runs where TRL is installed: one step of its GRPOTrainer, a tiny random model, the CPU. Prints
JSON.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from verifier.integrations.trl import SandboxReward

RIGHT = "```python\nprint(sum(map(int, input().split())))\n```"
TRUTH = json.dumps({"inputs": ["1 2\n"], "outputs": ["3\n"]})


class OneRight(SandboxReward):
    """A random model writes no program: the first completion gets one."""

    given: list[str]

    def __call__(self, *args: Any, **columns: Any) -> list[float | None]:
        self.given = sorted(columns)
        columns["completions"] = [RIGHT, *columns["completions"][1:]]
        self.said = super().__call__(*args, **columns)
        return self.said


def make_tokenizer() -> PreTrainedTokenizerFast:
    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<pad>", "<eos>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bare.train_from_iterator(["print the sum"], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bare, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )


def main() -> None:
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    shape = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=1,
    )
    rows = [
        {"prompt": "print the sum", "ground_truth": TRUTH},
        {"prompt": "print", "ground_truth": "{}"},
    ]
    reward = OneRight(None, accept=sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=LlamaForCausalLM(shape),
            reward_funcs=[reward],
            args=GRPOConfig(
                output_dir=folder,
                per_device_train_batch_size=4,
                num_generations=2,
                max_completion_length=8,
                max_steps=1,
                logging_steps=1,
                report_to=[],
                use_cpu=True,
                bf16=False,
                save_strategy="no",
                disable_tqdm=True,
                shuffle_dataset=False,
            ),
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
        )
        trainer.train()
    logged = {key: value for row in trainer.state.log_history for key, value in row.items()}
    answer = {
        "given": reward.given,
        "said": reward.said,
        "advantages": [round(value, 3) for value in trainer._logs["advantages"]],
        "mean": logged["rewards/sandbox_reward/mean"],
        "unscored": logged["sandbox_reward/unscored"],
        "finite": math.isfinite(logged["loss"]),
    }
    sys.stdout.write("ANSWER " + json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
