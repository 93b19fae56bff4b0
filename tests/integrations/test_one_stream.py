"""A whole batch of code over one stream, in both interfaces, through a real gateway."""

from __future__ import annotations

from reward_rollouts import CharTokenizer, make_batch
from trainer_data import ADD, PROSE, TRUTH

from verifier.rewards import BatchRewardManager, NaiveRewardManager, loop
from verifier.scoring import SandboxScorer


def big_batch(n=256):
    responses = [ADD if i % 2 else PROSE for i in range(n)]
    sources = ["taco", "apps", "codeforces", "codecontests"]
    return make_batch(responses, sources=[sources[i % 4] for i in range(n)], truth=TRUTH)


def test_256_code_responses_of_a_legacy_manager(gateway, streams):
    for cls in (NaiveRewardManager, BatchRewardManager):
        streams.clear()
        scorer = SandboxScorer(gateway.address, on_unavailable="raise")
        try:
            tensor = cls(CharTokenizer(), 0, scorer)(big_batch())
        finally:
            scorer.close()
        assert tensor.sum(dim=1).tolist() == [0.0, 1.0] * 128
        assert len(streams) == 1


async def test_256_code_responses_of_a_worker_of_the_loop(gateway, streams):
    config = {
        "sandbox_fusion": {"url": gateway.url},
        "reward_kwargs": {"on_unavailable": "raise"},
    }
    manager = loop.NaiveRewardManager(config, CharTokenizer())
    batch = big_batch()
    try:
        answers = await manager.run_batch(batch)
    finally:
        await manager.compute_score._code.aclose()
    assert [a["reward_score"] for a in answers] == [0.0, 1.0] * 128
    assert len(streams) == 1
