"""What goes to a reward model's server and how its answer is read; the server is a scripted one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from reward_rollouts import CharTokenizer, make_batch

aiohttp = pytest.importorskip("aiohttp", reason="reward models need the extra 'loop'")

from aiohttp import web  # noqa: E402

from verifier.errors import ConfigError, InfraError, RequestError  # noqa: E402
from verifier.reward_loop.disrm import DisrmClient  # noqa: E402
from verifier.reward_loop.http import post_json  # noqa: E402
from verifier.scoring import EXTRA_KEYS  # noqa: E402


class Template:
    """A reward model's tokenizer: what is used of one."""

    bos_token = "<bos>"

    def apply_chat_template(self, chat, *, add_generation_prompt, tokenize):
        assert (add_generation_prompt, tokenize) == (False, False)
        return "<bos>" + "".join(f"<{m['role']}>{m['content']}" for m in chat)


@pytest.fixture
async def server():
    """Answers from `script`; keeps what was asked."""

    state = SimpleNamespace(script=[], seen=[], address="")

    async def handle(request):
        state.seen.append((request.path, await request.json()))
        status, body = state.script.pop(0)
        return web.json_response(body, status=status)

    app = web.Application()
    app.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    state.address = f"127.0.0.1:{runner.addresses[0][1]}"
    yield state
    await runner.cleanup()


CHAT = [{"role": "user", "content": "Hello?"}]


def chat_batch():
    batch = make_batch(["Hi"], raw_prompt=[CHAT])
    ids = CharTokenizer().encode("Hi")
    batch.batch["responses"][0] = batch.batch["responses"][0].new_tensor(ids)
    return batch


@pytest.mark.parametrize(
    ("engine", "path", "more", "data"),
    [
        ("vllm", "/classify", {"use_activation": False}, {"probs": [0.1, -2.5]}),
        ("sglang", "/v1/embeddings", {}, {"embedding": [9.0, -2.5]}),
    ],
)
async def test_request_and_answer_have_the_engines_shape(server, engine, path, more, data):
    server.script = [(200, {"data": [{}, data]})]
    client = DisrmClient(server.address, "the/model", engine, CharTokenizer(), Template())
    try:
        answer = await client.compute_score_disrm(chat_batch())
    finally:
        await client.close()
    text = "<user>Hello?<assistant>Hi"
    assert server.seen == [(path, {"model": "the/model", "input": text, **more})]
    assert answer["reward_score"] == -2.5
    assert tuple(answer["reward_extra_info"]) == EXTRA_KEYS
    assert answer["reward_extra_info"]["scorer"] == "reward_model"


@pytest.mark.parametrize("body", [{"data": []}, {"nothing": 1}, {"data": [{"probs": [None]}]}])
async def test_an_answer_of_another_shape_is_a_fault(server, body):
    server.script = [(200, body)]
    client = DisrmClient(server.address, "m", "vllm", CharTokenizer(), Template())
    try:
        with pytest.raises(InfraError, match="answered"):
            await client.compute_score_disrm(chat_batch())
    finally:
        await client.close()


async def test_a_batch_without_chats_is_named():
    client = DisrmClient("h:1", "m", "vllm", CharTokenizer(), Template())
    with pytest.raises(RequestError, match="raw_prompt"):
        await client.compute_score_disrm(make_batch(["a"]))


def test_what_is_not_set_or_not_known_is_said():
    with pytest.raises(ConfigError, match="sglang"):
        DisrmClient("h:1", "m", "trtllm", CharTokenizer(), Template())
    with pytest.raises(ConfigError, match="model_path"):
        DisrmClient("h:1", None, "vllm", CharTokenizer(), Template())


async def no_sleep(seconds):
    assert seconds >= 0


async def test_server_errors_are_retried(server):
    server.script = [(500, {}), (503, {}), (429, {}), (200, {"ok": 1})]
    async with aiohttp.ClientSession() as session:
        url = f"http://{server.address}/x"
        assert await post_json(session, url, {}, sleep=no_sleep) == {"ok": 1}
    assert len(server.seen) == 4


async def test_a_refusal_is_not_retried(server):
    server.script = [(422, {"error": "no such field"})]
    async with aiohttp.ClientSession() as session:
        with pytest.raises(RequestError, match=r"422.*no such field"):
            await post_json(session, f"http://{server.address}/x", {}, sleep=no_sleep)
    assert len(server.seen) == 1


async def test_nobody_there_ends_after_the_attempts():
    async with aiohttp.ClientSession() as session:
        with pytest.raises(InfraError, match="after 2 attempts"):
            await post_json(session, "http://127.0.0.1:1/x", {}, attempts=2, sleep=no_sleep)
