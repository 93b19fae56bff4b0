"""The file of tokens, and who gets in with it over gRPC and HTTP."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import os

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.gateway import http_client
from verifier.config import Settings
from verifier.errors import ConfigError
from verifier.gateway import Gateway
from verifier.gateway.quotas import Quota
from verifier.gateway.tokens import TokenFile, parse_tokens
from verifier.types import Outcome, Result
from verifier.v1 import verifier_pb2 as pb

ALICE, BOB = "alice-0123456789abcdef", "bob-0123456789abcdef=="
LINES = f"""
# who may call
alice {ALICE}  max_requests=1
bob   sha256:{hashlib.sha256(BOB.encode()).hexdigest()}  expires=2100-01-01T00:00:00Z
"""


def bearer(token):
    return (("authorization", f"Bearer {token}"),)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(LINES)
    path.chmod(0o600)
    return path


def rewrite(path, text):
    """Other content with another stamp, whatever the clock's steps are."""
    path.write_text(text)
    os.utime(path, ns=(1, 1 + path.stat().st_mtime_ns))


async def refused(call):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    return caught.value.details()


def test_a_file_says_who_with_which_quota_until_when():
    alice, bob = parse_tokens(LINES)
    assert (alice.name, alice.quota, alice.expires) == ("alice", Quota(requests=1), None)
    assert alice.digest == hashlib.sha256(ALICE.encode()).digest()
    assert (bob.name, bob.expires) == ("bob", 4102444800.0)
    assert bob.digest == hashlib.sha256(BOB.encode()).digest()
    (carol,) = parse_tokens("carol sha256:" + "AB" * 32 + " max_bytes=5 expires=2027-01-31")
    assert carol.quota == Quota(held_bytes=5)
    assert carol.expires == 1801353600.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no token"),
        ("# nothing", "no token"),
        (ALICE, "line 1: expected a name"),
        ("\nalice short", "line 2: the token needs"),
        ("alice sha256:12", "line 1: the token needs"),
        (f"al!ce {ALICE}", "line 1: the name"),
        (f"a {ALICE} expires=tomorrow", "expires"),
        (f"a {ALICE} max_requests=0", "max_requests"),
        (f"a {ALICE} max_bytes=-1", "max_bytes"),
        (f"a {ALICE} max_bytes=1 max_bytes=2", "each once"),
        (f"a {ALICE} admin", "after the token"),
        (f"a {ALICE}\nb {ALICE}", "line 2: the token of an earlier line"),
    ],
)
def test_a_wrong_line_is_named_and_no_token_is_shown(text, problem):
    with pytest.raises(ConfigError, match=problem) as caught:
        parse_tokens(text)
    assert ALICE not in str(caught.value)


def test_a_token_ends_at_its_moment(file):
    now = [4102444799.0]
    tokens = TokenFile(file, lambda: now[0])
    assert tokens.find(BOB).name == "bob"
    now[0] += 1
    assert tokens.find(BOB) is None
    assert tokens.find(ALICE).name == "alice"
    assert tokens.find("") is None
    assert tokens.find("\ud800") is None


def test_a_changed_file_is_read_and_a_wrong_one_is_not_believed(file, caplog):
    tokens = TokenFile(file)
    rewrite(file, f"carol {BOB}\n")
    assert tokens.find(BOB).name == "carol"
    assert tokens.find(ALICE) is None
    with caplog.at_level(logging.ERROR, "verifier.gateway"):
        rewrite(file, f"carol {BOB}\nbroken {ALICE} what\n")
        assert tokens.find(BOB).name == "carol"
        assert tokens.find(ALICE) is None
    assert "line 2" in caplog.text
    assert ALICE not in caplog.text
    caplog.clear()
    tokens.find(BOB)
    assert not caplog.records  # said once
    file.unlink()
    assert tokens.find(BOB).name == "carol"
    assert "No such file" in caplog.text


def test_a_file_that_others_can_read_is_worth_a_warning(file, caplog):
    file.chmod(0o644)
    TokenFile(file)
    assert "chmod" in caplog.text


async def test_without_a_valid_token_nothing_is_served_but_health(serve, request_of, file):
    running = await serve(tokens=file)
    assert "needed" in await refused(running.stub.Score(request_of()))
    for wrong in ("x", BOB + "x", "", "Ünïcode".encode().hex()):
        text = await refused(running.stub.Score(request_of(), metadata=bearer(wrong)))
        assert "token" in text
    await refused(running.stub.GetInfo(pb.GetInfoRequest()))
    await refused(running.stub.Run(pb.RunRequest()))
    await refused(running.stub.PutSuite(iter([pb.PutSuiteRequest(chunk=b"{}")])))
    await refused(running.stub.ScoreStream(iter([request_of()])).read())
    assert running.engine.tasks == []
    health = health_pb2_grpc.HealthStub(running.channel)
    answer = await health.Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
    assert (await running.stub.Score(request_of(), metadata=bearer(ALICE))).score == 1.0


async def test_a_tokens_name_is_the_client_and_its_quota_counts(serve, request_of, file):
    running = await serve(tokens=file)
    gate = asyncio.Event()

    async def wait(task):
        await gate.wait()
        return Result(Outcome.SCORED, score=1.0, request_id=task.request_id)

    running.engine.on_score = wait
    mine = running.stub.Score(request_of("1", client_id="mallory"), metadata=bearer(ALICE))
    first = asyncio.ensure_future(mine)
    await running.engine.entered.wait()
    assert running.engine.tasks[0].client_id == "alice"
    with pytest.raises(grpc.aio.AioRpcError, match="quota of client 'alice'"):
        await running.stub.Score(request_of("2", client_id="x"), metadata=bearer(ALICE))
    gate.set()
    assert (await running.stub.Score(request_of("3"), metadata=bearer(BOB))).score == 1.0
    assert running.engine.tasks[-1].client_id == "bob"
    await first
    await running.stub.Run(
        pb.RunRequest(argv=pb.Argv(args=["true"])),
        metadata=bearer(BOB),
    )
    assert running.engine.tasks[-1].client_id == "bob"


async def test_a_token_that_is_withdrawn_ends_its_open_stream(serve, request_of, file):
    running = await serve(tokens=file)
    stream = running.stub.ScoreStream(metadata=bearer(BOB))
    await stream.write(request_of("1"))
    assert (await stream.read()).score == 1.0
    rewrite(file, f"alice {ALICE}\n")
    await stream.write(request_of("2"))
    answer = await stream.read()
    assert answer.error_code == grpc.StatusCode.UNAUTHENTICATED.value[0]
    await refused(running.stub.Score(request_of(), metadata=bearer(BOB)))
    stream.cancel()


async def test_a_message_without_a_token_is_not_even_received(serve, request_of, file):
    running = await serve(tokens=file, max_message_bytes=65536)
    # With a token the size would be the problem; without, nobody looked at it.
    big = request_of(response=b"x" * 100_000)
    await refused(running.stub.Score(big))
    with pytest.raises(grpc.aio.AioRpcError, match="larger than max"):
        await running.stub.Score(big, metadata=bearer(ALICE))


async def test_http_asks_for_the_same_tokens(serve, file):
    running = await serve(tokens=file, http="127.0.0.1:0")
    for path in ("/healthz", "/readyz"):
        assert (await http_client.get(running.http, path)).status == 200
    basic = base64.b64encode(f"anybody:{BOB}".encode()).decode()
    body = {"code": "1", "language": "python"}
    for header in ("", "Bearer x", "Basic !!", "Basic eDp5", "Bearer", "\xff"):
        answer = await http_client.post(running.http, "/run_code", body, Authorization=header)
        assert answer.status == 401, header
        assert answer.headers["www-authenticate"].startswith("bearer")
        assert "token" in answer.json()["detail"]
    assert running.engine.tasks == []
    for header in (f"Bearer {BOB}", f"Basic {basic}", f"bearer  {BOB}"):
        answer = await http_client.post(running.http, "/run_code", body, Authorization=header)
        assert answer.status == 200
        assert running.engine.tasks[-1].client_id == "bob"
    assert (await http_client.get(running.http, "/nothing")).status == 401


async def test_a_file_that_is_not_there_stops_the_start(unused_engine, tmp_path):
    gateway = Gateway(unused_engine, Settings(grpc="127.0.0.1:0", tokens=tmp_path / "none"))
    with pytest.raises(ConfigError, match="tokens: cannot read"):
        await gateway.start()
