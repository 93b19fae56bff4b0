#!/usr/bin/env python3
"""Trains a tiny model by policy gradients on rewards of a real gateway, and plots what happened.

    python examples/policy_gradient.py                             starts a gateway of its own
    python examples/policy_gradient.py --server 127.0.0.1:50051    uses one that runs

A model of about 5,000 parameters writes Python programs, token by token, for four problems ("print
the sum", ...). Each step: sample 8 responses for each problem, run them all against the tests
through the gateway (one stream), and then what a trainer does:

    extract_reward -> token_level_scores -> KL penalty -> token_level_rewards -> GRPO -> gradient

The same is done with the rewards shuffled among the responses. The mean reward rises in the first
case and not in the second, so what the model learned came from the verdicts. Writes
policy_gradient.json and policy_gradient.svg. Needs the extra `rl` (torch); no GPU; 15 s.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from policy_gradient_plot import Curve, draw
from torch import nn

from verifier.errors import VerifierError
from verifier.rewards import BatchRewardManager, RewardBatch
from verifier.rewards.assemble import write_scores
from verifier.rewards.downstream import (
    FixedKLController,
    add_rewards,
    apply_kl_penalty,
    compute_grpo_outcome_advantage,
    extract_reward,
)
from verifier.scoring import SandboxScorer

LISTENING = "grpc listening on "
STOP_S = 45  # the gateway's own grace is 30 s

HEAD = "```python\na, b = map(int, input().split())\nprint("
END = ")\n```\n"
OPERANDS = ["a", "b", "2"]
OPERATORS = [" + ", " - ", " * "]
PROBLEMS: dict[str, Callable[[int, int], int]] = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "product": lambda a, b: a * b,
    "double": lambda a, b: 2 * a,  # noqa: ARG005 - one signature for all
}
INPUTS = [(7, 2), (4, 4)]  # on the second, a wrong program is often right: half a reward
VOCABULARY = ["<pad>", HEAD, END, *OPERANDS, *OPERATORS, *PROBLEMS]
PAD = 0
LENGTH = 5  # HEAD operand [operator operand] END

GROUP = 8
KL_COEF = 0.1
LEARNING_RATE = 0.04


class PieceTokenizer:
    """A token is a piece of a program."""

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """Text of token ids."""
        skip = {PAD} if skip_special_tokens else set()
        return "".join(VOCABULARY[token] for token in token_ids if token not in skip)


def ids(pieces: Sequence[str]) -> list[int]:
    """Token ids of pieces."""
    return [VOCABULARY.index(piece) for piece in pieces]


def allowed() -> torch.Tensor:
    """Bool (LENGTH, V, V): at each position, after each token, which tokens the grammar has."""
    table = torch.zeros(LENGTH, len(VOCABULARY), len(VOCABULARY), dtype=torch.bool)
    table[:, :, PAD] = True  # after END, and where no rule below applies
    rules = [
        (0, ids(list(PROBLEMS)), ids([HEAD])),
        (1, ids([HEAD]), ids(OPERANDS)),
        (2, ids(OPERANDS), ids([*OPERATORS, END])),
        (3, ids(OPERATORS), ids(OPERANDS)),
        (4, ids(OPERANDS), ids([END])),
    ]
    for position, before, after in rules:
        for token in before:
            table[position, token] = False
            table[position, token, after] = True
    return table


class Policy(nn.Module):
    """A GRU over the tokens so far; the grammar masks what it may say next."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(VOCABULARY), width // 2)
        self.recur = nn.GRU(width // 2, width, batch_first=True)
        self.head = nn.Linear(width, len(VOCABULARY))
        self.register_buffer("allowed", allowed())

    def log_probs(self, prompts: torch.Tensor, responses: torch.Tensor) -> torch.Tensor:
        """Log-probability of each response token, float32 (n, LENGTH); 0 where there is no choice.

        Args:
            prompts: int64 (n, 1).
            responses: int64 (n, LENGTH), padded on the right.
        """
        before = torch.cat([prompts, responses[:, :-1]], dim=1)
        states, _ = self.recur(self.embed(before))
        masked = self._masked(self.head(states), before, slice(None))
        return masked.gather(-1, responses.unsqueeze(-1)).squeeze(-1)

    @torch.no_grad()
    def sample(self, prompts: torch.Tensor, random: torch.Generator) -> torch.Tensor:
        """A response to each prompt, int64 (n, LENGTH), padded on the right."""
        token, state, tokens = prompts, None, []
        for position in range(LENGTH):
            states, state = self.recur(self.embed(token), state)
            chances = self._masked(self.head(states[:, 0]), token[:, 0], position).exp()
            token = torch.multinomial(chances, 1, generator=random)
            tokens.append(token)
        return torch.cat(tokens, dim=1)

    def _masked(
        self, logits: torch.Tensor, before: torch.Tensor, position: int | slice
    ) -> torch.Tensor:
        rows = torch.arange(LENGTH) if isinstance(position, slice) else position
        may = self.get_buffer("allowed")[rows, before]
        return logits.masked_fill(~may, float("-inf")).log_softmax(dim=-1)


def make_batch(prompts: torch.Tensor, responses: torch.Tensor) -> RewardBatch:
    """What a rollout leaves behind: token ids, and the data set's columns."""
    names = [VOCABULARY[token] for token in prompts[:, 0].tolist()]
    truths = {
        name: {
            "inputs": [f"{a} {b}\n" for a, b in INPUTS],
            "outputs": [f"{solve(a, b)}\n" for a, b in INPUTS],
        }
        for name, solve in PROBLEMS.items()
    }
    mask = (responses != PAD).long()
    return RewardBatch(
        {
            "prompts": prompts,
            "responses": responses,
            "attention_mask": torch.cat([torch.ones_like(prompts), mask], dim=1),
            "response_mask": mask,
        },
        {
            "data_source": ["taco"] * len(names),
            "reward_model": [{"ground_truth": truths[name]} for name in names],
            "uid": names,
        },
    )


def shuffled(batch: RewardBatch, scores: torch.Tensor, random: torch.Generator) -> torch.Tensor:
    """The same scores, float32 (n, L), each on the last token of a response chosen by lot."""
    order = torch.randperm(len(batch), generator=random)
    last = batch.batch["response_mask"].sum(dim=1) - 1
    return write_scores(batch.batch["responses"], last, scores.sum(dim=1)[order])


def train(manager: BatchRewardManager, seed: int, steps: int, *, shuffle: bool) -> list[float]:
    """Train one model; the mean reward of each step's batch.

    Args:
        manager: Rewards the batches.
        seed: Of the model and its samples.
        steps: Updates.
        shuffle: Learn from shuffled rewards. What is returned is not shuffled.
    """
    random = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy, reference = Policy(), Policy()
    reference.load_state_dict(policy.state_dict())
    optimizer = torch.optim.Adam(policy.parameters(), lr=LEARNING_RATE)
    prompts = torch.tensor(ids(list(PROBLEMS))).repeat_interleave(GROUP).unsqueeze(1)
    control = FixedKLController(KL_COEF)
    curve = []
    for _ in range(steps):
        batch = make_batch(prompts, policy.sample(prompts, random))
        answer = manager(batch, return_dict=True)
        assert isinstance(answer, dict)
        add_rewards(batch, answer["reward_tensor"], answer["reward_extra_info"])

        scores, extra = extract_reward(batch)
        curve.append(float(scores.sum(dim=-1).mean()))
        batch.batch["token_level_scores"] = shuffled(batch, scores, random) if shuffle else scores
        mask = batch.batch["response_mask"]
        log_probs = policy.log_probs(prompts, batch.batch["responses"])
        batch.batch["old_log_probs"] = log_probs.detach()
        with torch.no_grad():
            batch.batch["ref_log_prob"] = reference.log_probs(prompts, batch.batch["responses"])
        apply_kl_penalty(batch, control)
        advantages, _ = compute_grpo_outcome_advantage(
            batch.batch["token_level_rewards"],
            mask,
            batch.non_tensor_batch["uid"],
            valid=extra["valid"],
        )
        loss = -(advantages * log_probs * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return curve


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    server: str | None
    accept: list[str]
    seeds: list[int]
    steps: int
    out: Path


def read_options() -> Options:
    """The command line."""
    parser = argparse.ArgumentParser(description="A few policy-gradient steps on real verdicts.")
    parser.add_argument("--server", metavar="HOST:PORT", help="a gateway; without it, starts one")
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="NAME",
        help="a guarantee that the gateway it starts may miss",
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the two files")
    return Options(**vars(parser.parse_args()))


@contextlib.contextmanager
def gateway(options: Options) -> Iterator[str]:
    """The address of the gateway that was given, or of one that lives as long as the block."""
    if options.server:
        yield options.server
        return
    command = [sys.executable, "-m", "verifier.cli", "serve", "--grpc", "127.0.0.1:0"]
    for name in options.accept:
        command += ["--accept", name]
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert server.stdout is not None
            for line in server.stdout:
                if line.startswith(LISTENING):
                    yield line.removeprefix(LISTENING).strip()
                    break
            else:
                log.seek(0)
                raise SystemExit(f"the gateway did not start:\n{log.read()}")
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.communicate(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.communicate()


def main() -> None:
    """Train on every seed, with the rewards as they are and shuffled."""
    options = read_options()
    torch.set_num_threads(1)  # the cores are the sandbox's
    size = sum(parameter.numel() for parameter in Policy().parameters())
    print(f"{size:,} parameters, {GROUP * len(PROBLEMS)} responses a step, {options.steps} steps")
    curves = []
    with gateway(options) as address:
        scorer = SandboxScorer(address, on_unavailable="mask")
        try:
            manager = BatchRewardManager(PieceTokenizer(), 0, scorer)
            for shuffle in (False, True):
                for seed in options.seeds:
                    values = train(manager, seed, options.steps, shuffle=shuffle)
                    curves.append(Curve("shuffled" if shuffle else "rewards", seed, values))
                    print(
                        f"seed {seed} {curves[-1].name:<9} mean reward "
                        f"{curves[-1].start:.2f} -> {curves[-1].end:.2f}",
                        flush=True,
                    )
        except VerifierError as error:
            raise SystemExit(f"{type(error).__name__}: {error}") from None
        finally:
            scorer.close()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [{"rewards": c.name, "seed": c.seed, "mean_reward": c.values} for c in curves]
    (options.out / "policy_gradient.json").write_text(json.dumps(rows, indent=1) + "\n")
    (options.out / "policy_gradient.svg").write_text(draw(curves))
    print(f"wrote {options.out / 'policy_gradient.json'} and policy_gradient.svg beside it")


if __name__ == "__main__":
    main()
