#!/usr/bin/env python3
"""How long it takes to make rewards of scores, for a batch of a million response tokens.

    python benchmarks/assemble_batch.py [--rounds N] [--json FILE]

1,024 responses of up to 1,024 tokens (prompts of 512), already scored: read the masks, write each
score on its response's last token, make the columns of the extra info. One thread. Interleaved with
the floor, the empty tensor that has to be made in any case. Exits with 1 when the median is not
below the bound of 50 ms.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from verifier.rewards import RewardBatch
from verifier.rewards.assemble import columns
from verifier.rewards.loop.base import RewardManagerBase
from verifier.scoring import EXTRA_KEYS, ScoreRecord

RESPONSES, TOKENS, PROMPT_TOKENS = 1024, 1024, 512
BOUND_MS = 50.0


def make_batch() -> tuple[RewardBatch, torch.Tensor]:
    """A batch of responses of all lengths, none to full, and their lengths, int64 (n,)."""
    random = torch.Generator().manual_seed(0)
    lengths = torch.randint(0, TOKENS + 1, (RESPONSES,), generator=random)
    lengths[:2] = torch.tensor([0, TOKENS])
    real = torch.arange(TOKENS)[None, :] < lengths[:, None]
    prompts = torch.ones(RESPONSES, PROMPT_TOKENS, dtype=torch.long)
    tensors = {
        "prompts": prompts,
        "responses": torch.randint(2, 32_000, (RESPONSES, TOKENS), generator=random),
        "attention_mask": torch.cat([prompts, real.long()], dim=1),
    }
    return RewardBatch(tensors), lengths


def check(batch: RewardBatch, lengths: torch.Tensor, records: list[ScoreRecord]) -> None:
    """What is measured is right."""
    rewards, extra = assemble(batch, records)
    assert list(extra) == list(EXTRA_KEYS)
    assert int((rewards != 0).sum()) == int((lengths > 0).sum())
    rows = torch.nonzero(lengths).squeeze(1)
    scores = torch.tensor([record.score for record in records])
    assert torch.equal(rewards[rows, lengths[rows] - 1], scores[rows])


def assemble(
    batch: RewardBatch, records: list[ScoreRecord]
) -> tuple[torch.Tensor, dict[str, list[object]]]:
    """Rewards, float32 (n, L), and `reward_extra_info`."""
    scores = [record.score for record in records]
    return RewardManagerBase.assemble_rm_scores(batch, scores), columns(records)


def milliseconds(work: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time from scores to rewards of a big batch.")
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    batch, lengths = make_batch()
    records = [
        ScoreRecord(score=(i + 1) / RESPONSES, request_id=f"{i:032x}") for i in range(RESPONSES)
    ]
    check(batch, lengths, records)
    work: dict[str, Callable[[], object]] = {
        "torch.zeros": lambda: torch.zeros(RESPONSES, TOKENS),
        "assemble": lambda: assemble(batch, records),
    }
    took: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(options.rounds):
        for name, call in work.items():
            took[name].append(milliseconds(call))
    print(f"{RESPONSES} responses of up to {TOKENS} tokens, torch {torch.__version__}, 1 thread")
    print(f"{'':12}{'median ms':>10}{'min':>8}{'max':>8}")
    for name, values in took.items():
        print(f"{name:12}{statistics.median(values):10.2f}{min(values):8.2f}{max(values):8.2f}")
    if options.json:
        options.json.write_text(json.dumps({"ms": took, "torch": torch.__version__}, indent=1))
    within = statistics.median(took["assemble"]) < BOUND_MS
    print(f"{'below' if within else 'NOT below'} the bound of {BOUND_MS:.0f} ms")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
