"""SIGHUP: what changes without a restart, what is named only, and mistakes that change nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import grpc
import pytest

from verifier.config import LimitSettings, Settings, reloads
from verifier.errors import ConfigError
from verifier.gateway.reload import plan
from verifier.types import Outcome, Result
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc


def changed(settings, **update):
    return Settings(**{**settings.model_dump(), **update})


def test_a_plan_takes_what_it_can_and_names_the_rest():
    before = Settings(slots=1)
    made = plan(before, changed(before, slots=2, max_queue=5, max_client_requests=7))
    assert (made.settings.slots, made.settings.max_queue) == (1, 5)
    assert str(made) == (
        "settings read again: max_queue: 16384 -> 5, max_client_requests: unset -> 7; "
        "not before a restart: slots: 1 -> 2"
    )
    assert "nothing changed" in str(plan(before, changed(before)))


def test_every_setting_either_reloads_or_does_not():
    known = {name for name in Settings.model_fields if reloads(name)}
    assert {"tokens", "max_queue", "max_limits", "grace_s", "max_client_bytes"} <= known
    assert not known & {"grpc", "http", "backend", "slots", "tls_cert", "cache_dir"}
    assert reloads("max_limits.cpu_time_s")


async def test_bounds_quotas_and_ceilings_change_while_it_serves(serve, request_of):
    running = await serve(max_queue=1)
    gate = asyncio.Event()

    async def wait(task):
        await gate.wait()
        return Result(Outcome.SCORED, score=1.0, request_id=task.request_id)

    running.engine.on_score = wait
    calls = [asyncio.ensure_future(running.stub.Score(request_of("1", client_id="a")))]
    await running.engine.entered.wait()
    with pytest.raises(grpc.aio.AioRpcError, match="queue is full"):
        await running.stub.Score(request_of("2"))
    present = running.gateway._settings
    running.gateway.reload(changed(present, max_queue=3, max_client_requests=1))
    with pytest.raises(grpc.aio.AioRpcError, match="quota of client 'a'"):
        await running.stub.Score(request_of("3", client_id="a"))
    running.engine.entered.clear()
    calls.append(asyncio.ensure_future(running.stub.Score(request_of("4", client_id="b"))))
    await running.engine.entered.wait()
    gate.set()
    assert [call.score for call in await asyncio.gather(*calls)] == [1.0, 1.0]

    limits = pb.Limits(cpu_time_s=50)
    await running.stub.Score(request_of("5", limits=limits))
    ceilings = LimitSettings(**{**present.max_limits.model_dump(), "cpu_time_s": 20})
    running.gateway.reload(changed(running.gateway._settings, max_limits=ceilings))
    assert running.engine.adjusted["max_limits"].cpu_time_s == 20
    with pytest.raises(grpc.aio.AioRpcError, match="ceiling"):
        await running.stub.Score(request_of("6", limits=limits))


async def test_tokens_can_be_asked_for_from_now_on(serve, request_of, tmp_path):
    running = await serve()
    await running.stub.Score(request_of("1"))
    tokens = tmp_path / "tokens"
    wanted = changed(running.gateway._settings, tokens=tokens, max_queue=5)
    with pytest.raises(ConfigError, match="tokens"):
        running.gateway.reload(wanted)
    assert running.gateway._settings.max_queue != 5  # not by half
    await running.stub.Score(request_of("2"))
    tokens.write_text("alice 0123456789abcdef")
    running.gateway.reload(wanted)
    assert running.gateway._settings.max_queue == 5
    with pytest.raises(grpc.aio.AioRpcError, match="token"):
        await running.stub.Score(request_of("3"))
    metadata = (("authorization", "Bearer 0123456789abcdef"),)
    await running.stub.Score(request_of("4"), metadata=metadata)
    running.gateway.reload(changed(running.gateway._settings, tokens=None))
    await running.stub.Score(request_of("5"))


def test_tokens_do_not_go_while_other_machines_can_call(tmp_path):
    before = Settings(grpc="0.0.0.0:1", tokens=tmp_path, tls_cert=tmp_path, tls_key=tmp_path)
    with pytest.raises(ConfigError, match="until a restart"):
        plan(before, changed(before, grpc="127.0.0.1:1", tokens=None))
    assert plan(before, changed(before, tokens=tmp_path / "x")).applied


SCRIPT = textwrap.dedent("""
    import asyncio, sys
    from verifier.config import load_settings
    from verifier.gateway import serve
    sys.path.insert(0, sys.argv[1])
    from conftest import StubEngine

    def read():
        return load_settings(sys.argv[2]).settings

    asyncio.run(serve(read(), engine=StubEngine(), reread=read))
""")


def test_a_signal_reads_the_file_again_and_a_mistake_changes_nothing(tmp_path, request_of):
    file = tmp_path / "verifier.toml"

    def write(**settings):
        text = {"grpc": "127.0.0.1:0", **settings}
        file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in text.items()))

    write(max_cases=1)
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    try:
        address = process.stdout.readline().split()[-1]
        with grpc.insecure_channel(address) as channel:
            stub = rpc.VerifierStub(channel)
            assert stub.Score(request_of()).outcome == pb.OUTCOME_INVALID_SUITE
            write(max_casse=5)
            process.send_signal(signal.SIGHUP)
            line = process.stderr.readline()
            assert "nothing is changed" in line
            assert "did you mean max_cases" in line
            assert stub.Score(request_of()).outcome == pb.OUTCOME_INVALID_SUITE
            write(max_cases=5, slots=3)
            process.send_signal(signal.SIGHUP)
            line = process.stdout.readline()
            assert "max_cases: 1 -> 5" in line
            assert "not before a restart: slots: unset -> 3" in line
            assert stub.Score(request_of()).outcome == pb.OUTCOME_SCORED
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    finally:
        process.kill()
        process.communicate()
