"""Runs under the python of the verl environment, which has transformers: see test_reward_models.py.

Real processes: two replicas of a tiny classifier, the router, and over them our client and verl's.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import urllib.request
from types import SimpleNamespace

import numpy as np
from inside import TOKENIZER, run_checks
from omegaconf import OmegaConf
from page_snippets import snippets
from transformers import AutoTokenizer
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker as VerlWorker

from verifier.errors import ConfigError, InfraError
from verifier.reward_loop import DisrmClient, RewardLoopWorker, RewardModelManager
from verifier.rewards import RewardBatch, loop
from verifier.rewards.settings import RewardModelSettings
from verifier.scoring import EXTRA_KEYS
from verifier.testing.reward_model import TinyRewardModel

FOLDER = tempfile.mkdtemp()
MODEL = TinyRewardModel()
MODEL.save(FOLDER)
COMMAND = (sys.executable, "-m", "verifier.testing.reward_model", "--host", "{host}")
SERVERS = RewardModelManager(
    RewardModelSettings(command=(*COMMAND, "--port", "{port}"), num_replicas=2, model_path=FOLDER),
    start_timeout_s=300,
)
ROUTER = SERVERS.get_router_address()
CHATS = ["What is 2 + 2?", "Say hello.", "Write a poem."]
RESPONSES = ["4", "Hello there!", ""]


def make_batch() -> DataProto:
    own = RewardBatch.from_token_ids(
        [TOKENIZER.encode(text) for text in CHATS],
        [[*TOKENIZER.encode(text), TOKENIZER.eos_token_id] if text else [] for text in RESPONSES],
        pad_token_id=TOKENIZER.pad_token_id,
    )
    columns = {
        "raw_prompt": [[{"role": "user", "content": text}] for text in CHATS],
        "data_source": ["chat"] * 3,
        "reward_model": [{"ground_truth": ""}] * 3,
        "extra_info": [{} for _ in CHATS],
    }
    stacked = {key: np.empty(3, dtype=object) for key in columns}
    for key, values in columns.items():
        stacked[key][:] = values
    return DataProto.from_dict(tensors=own.batch, non_tensors=stacked)


def expected() -> list[float]:
    """What the model says of the three chats, asked without HTTP."""
    texts = [
        f"<|user|>{chat}<eos><|assistant|>{response}<eos>"
        for chat, response in zip(CHATS, RESPONSES, strict=True)
    ]
    return [MODEL.score(text)[0] for text in texts]


async def scores_of(worker, batch: DataProto) -> list[dict]:
    return [await worker(batch[i : i + 1]) for i in range(len(batch))]


def client(engine: str) -> DisrmClient:
    return DisrmClient(ROUTER, FOLDER, engine, TOKENIZER, AutoTokenizer.from_pretrained(FOLDER))


def ours(engine: str) -> list[dict]:
    async def ask():
        asked = client(engine)
        try:
            return await scores_of(asked.compute_score_disrm, make_batch())
        finally:
            await asked.close()

    return asyncio.run(ask())


def check_scores_are_the_models():
    for engine in ("vllm", "sglang"):
        answers = ours(engine)
        assert np.allclose([a["reward_score"] for a in answers], expected(), atol=1e-5)
        assert all(tuple(a["reward_extra_info"]) == EXTRA_KEYS for a in answers)


def check_verls_worker_gets_the_same_from_the_same_servers():
    for engine in ("vllm", "sglang"):
        config = {
            "reward": {"reward_model": {"model_path": FOLDER, "rollout": {"name": engine}}},
        }
        worker = SimpleNamespace(
            config=OmegaConf.create(config),
            reward_router_address=ROUTER,
            input_tokenizer=TOKENIZER,
            reward_model_tokenizer=AutoTokenizer.from_pretrained(FOLDER),
        )
        for name in ("_post_request", "_preprocess_reward_inputs", "compute_score_disrm"):
            setattr(worker, name, getattr(VerlWorker, name).__get__(worker))
        verls = asyncio.run(scores_of(worker.compute_score_disrm, make_batch()))
        assert [a["reward_score"] for a in verls] == [a["reward_score"] for a in ours(engine)]


def check_a_worker_of_the_loop_scores_with_the_reward_model():
    config = {
        "actor_rollout_ref": {"model": {"path": FOLDER}},
        "reward": {"reward_model": {"enable": True, "model_path": FOLDER}},
    }

    async def ask():
        worker = RewardLoopWorker(config, ROUTER, TOKENIZER)
        try:
            return await worker.compute_score_batch(make_batch())
        finally:
            await worker._disrm.close()

    answers = asyncio.run(ask())
    assert np.allclose([a["reward_score"] for a in answers], expected(), atol=1e-5)


JUDGE = """
import aiohttp

async def compute_score(data_source, solution_str, ground_truth, extra_info,
                        reward_router_address, reward_model_tokenizer):
    chat = [{"role": "user", "content": solution_str}]
    assert reward_model_tokenizer.apply_chat_template(chat, tokenize=False)
    async with aiohttp.ClientSession() as session:
        url = f"http://{reward_router_address}/v1/chat/completions"
        async with session.post(url, json={"model": "judge", "messages": chat}) as response:
            text = (await response.json())["choices"][0]["message"]["content"]
    return {"score": float(text.removeprefix("Score: ")), "acc": 1.0}
"""


def check_a_judge_is_asked_by_a_custom_function_with_the_routers_address():
    path = f"{FOLDER}/judge.py"
    with open(path, "w") as file:  # noqa: PTH123 - a script in a temporary folder
        file.write(JUDGE)
    config = {
        "reward": {
            "custom_reward_function": {"path": path},
            "reward_model": {"enable": True, "model_path": FOLDER},
        }
    }
    worker = RewardLoopWorker(config, ROUTER, TOKENIZER)
    assert type(worker.manager) is loop.NaiveRewardManager
    answers = asyncio.run(worker.compute_score_batch(make_batch()))
    texts = [f"<bos><|user|>{response}<eos>" for response in RESPONSES]
    assert np.allclose(
        [a["reward_score"] for a in answers], [MODEL.score(t)[0] for t in texts], atol=1e-4
    )


def get(address: str, path: str, body: dict | None = None) -> str:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(
        f"http://{address}{path}", data=data, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read().decode()


def check_answers_have_the_servers_shapes():
    answer = json.loads(get(ROUTER, "/classify", {"model": "m", "input": ["a", "b"]}))
    assert set(answer) == {"id", "object", "created", "model", "data", "usage"}
    assert [set(item) for item in answer["data"]] == [
        {"index", "label", "probs", "num_classes"}
    ] * 2
    assert all(0 < item["probs"][0] < 1 for item in answer["data"])  # activated
    answer = json.loads(get(ROUTER, "/v1/embeddings", {"model": "m", "input": "a"}))
    assert set(answer) == {"object", "data", "model", "usage"}
    assert set(answer["data"][0]) == {"object", "embedding", "index"}
    chat = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    answer = json.loads(get(ROUTER, "/v1/chat/completions", chat))
    assert re.fullmatch(r"Score: -?\d+\.\d{6}", answer["choices"][0]["message"]["content"])
    events = get(ROUTER, "/v1/chat/completions", {**chat, "stream": True}).strip().split("\n\n")
    assert events[-1] == "data: [DONE]"
    deltas = [json.loads(e.removeprefix("data: "))["choices"][0]["delta"] for e in events[:-1]]
    text = "".join(delta.get("content", "") for delta in deltas)
    assert text == answer["choices"][0]["message"]["content"]


def check_the_replicas_share_the_requests():
    async def ask():
        asked = client("vllm")
        try:
            batch = make_batch()[:1]
            await asyncio.gather(*(asked.compute_score_disrm(batch) for _ in range(24)))
        finally:
            await asked.close()

    before = [json.loads(get(a, "/requests"))["requests"] for a in SERVERS.server_addresses]
    asyncio.run(ask())
    after = [json.loads(get(a, "/requests"))["requests"] for a in SERVERS.server_addresses]
    counts = [b - a for a, b in zip(before, after, strict=True)]
    assert sum(counts) == 24
    assert min(counts) >= 6, counts


def check_sleep_and_wake_up_reach_every_replica():
    def asleep():
        return [json.loads(get(a, "/is_sleeping"))["is_sleeping"] for a in SERVERS.server_addresses]

    SERVERS.sleep()
    try:
        assert asleep() == [True, True]
    finally:
        SERVERS.wake_up()
    assert asleep() == [False, False]


def check_addresses_of_servers_that_run_already():
    there = RewardModelManager(RewardModelSettings(addresses=tuple(SERVERS.server_addresses)))
    try:
        assert json.loads(get(there.get_router_address(), "/health"))["workers"]
    finally:
        there.close()
    assert get(SERVERS.server_addresses[0], "/health") == ""  # not ours to end


def check_sglangs_own_router_in_front_of_the_same_servers():
    running = RewardModelSettings(addresses=tuple(SERVERS.server_addresses))
    there = RewardModelManager(running, router="sglang", start_timeout_s=120)
    try:
        body = {"model": "m", "input": "some text"}
        answer = json.loads(get(there.get_router_address(), "/v1/embeddings", body))
        assert np.isclose(answer["data"][0]["embedding"][0], MODEL.score("some text")[0], atol=1e-5)
    finally:
        there.close()


def check_what_does_not_start_says_why():
    said = ""
    try:
        RewardModelManager(
            RewardModelSettings(command=(sys.executable, "-c", "raise SystemExit(3)"))
        )
    except InfraError as error:
        said = str(error)
    assert "ended with 3" in said
    for settings in (
        RewardModelSettings(),
        RewardModelSettings(command=("serve", "{modle}")),
        RewardModelSettings(command=("no-such-program",)),
    ):
        said = ""
        try:
            RewardModelManager(settings)
        except ConfigError as error:
            said = str(error)
        assert said, settings


def check_the_page_runs():
    names = {
        "asyncio": asyncio,
        "addresses": SERVERS.server_addresses,
        "batch": make_batch(),
        "folder": FOLDER,
        "tokenizer": TOKENIZER,
        "reward_tokenizer": AutoTokenizer.from_pretrained(FOLDER),
    }
    client_block, judge_block = snippets("reward-models.md", "python")
    exec(client_block, names)
    assert np.isclose(names["score"], expected()[0], atol=1e-5)
    exec(judge_block, names)
    judged = names["compute_score"]("chat", "4", "", {}, ROUTER, names["reward_tokenizer"])
    text = "<bos><|user|>Rate this answer: 4<eos>"
    assert np.isclose(asyncio.run(judged), MODEL.score(text)[0], atol=1e-4)


if __name__ == "__main__":
    try:
        run_checks(globals())
    finally:
        SERVERS.close()
