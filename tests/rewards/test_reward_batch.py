from __future__ import annotations

import pytest
import torch

from verifier.errors import RequestError
from verifier.rewards import RewardBatch


def small():
    return RewardBatch.from_token_ids(
        [[1, 2], [3]], [[4], [5, 6, 7]], pad_token_id=9, non_tensor_batch={"k": ["x", "y"]}
    )


def test_pads_prompts_left_and_responses_right():
    batch = small()
    assert batch.batch["prompts"].tolist() == [[1, 2], [9, 3]]
    assert batch.batch["responses"].tolist() == [[4, 9, 9], [5, 6, 7]]
    assert batch.batch["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]]


def test_items_and_slices():
    batch = small()
    assert len(batch) == 2
    assert batch[1].non_tensor_batch == {"k": "y"}
    assert batch[-1].batch["responses"].tolist() == [5, 6, 7]
    assert [item.non_tensor_batch["k"] for item in batch] == ["x", "y"]
    assert len(batch[-1:]) == 1
    assert batch[-1:].non_tensor_batch == {"k": ["y"]}
    with pytest.raises(IndexError):
        batch[2]


def test_columns_of_unequal_length_are_named():
    with pytest.raises(RequestError, match=r"non_tensor_batch\.k: 1 values for 2 rows"):
        RewardBatch({"responses": torch.zeros(2, 3)}, {"k": ["x"]})
    with pytest.raises(RequestError, match=r"batch\.mask"):
        RewardBatch({"responses": torch.zeros(2, 3), "mask": torch.zeros(3, 3)})
    with pytest.raises(RequestError, match="prompts"):
        RewardBatch.from_token_ids([[1]], [])


def test_empty():
    assert len(RewardBatch({})) == 0
    assert len(RewardBatch({}, {"k": [1, 2]})) == 2
    assert RewardBatch.from_token_ids([], []).batch["responses"].shape == (0, 0)
