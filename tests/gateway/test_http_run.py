"""Sandbox Fusion's interface over HTTP, with an engine whose answers a test scripts."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from http_client import get, post, receive, run_code, send

from verifier.engine import Engine
from verifier.errors import BackendError, DeadlineError, LimitError, OverloadedError, SlotError
from verifier.gateway.http_fields import OURS, RunCode, languages_of_sandbox_fusion
from verifier.testing import FakeSandbox
from verifier.types import (
    CompileFacts,
    Killer,
    LimitOverrides,
    RunFacts,
    RunOutcome,
    RunTask,
    Status,
)

# What Sandbox Fusion names and verl's client may send.
LANGUAGES = [
    "python",
    "cpp",
    "nodejs",
    "go",
    "go_test",
    "java",
    "php",
    "csharp",
    "bash",
    "typescript",
    "sql",
    "rust",
    "cuda",
    "lua",
    "R",
    "perl",
    "D_ut",
    "ruby",
    "scala",
    "julia",
    "pytest",
    "junit",
    "kotlin_script",
    "jest",
    "verilog",
    "python_gpu",
    "lean",
    "swift",
    "racket",
]
# Exactly what verl 0.9.1 sends.
VERLS = {
    "compile_timeout": 10,
    "run_timeout": 10,
    "code": "print(input())",
    "stdin": "5\n",
    "memory_limit_MB": 1024,
    "language": "python",
    "files": {},
    "fetch_files": [],
}


@pytest.fixture
async def http(serve):
    """A gateway that serves HTTP; `await http(max_queue=1)` sets settings."""

    async def start(**settings):
        return await serve(http="127.0.0.1:0", **settings)

    return start


def ran(status=Status.ACCEPTED, compiled=None, files=(), message="", **facts):
    facts.setdefault("exit_code", 0 if "signal" not in facts else None)
    return lambda task: RunOutcome(
        status, RunFacts(**facts), compiled, message=message, files=files
    )


async def test_ping_is_pong(http):
    running = await http()
    answer = await get(running.http, "/v1/ping")
    assert (answer.status, answer.body) == (200, b'"pong"')


async def test_what_verl_sends_and_what_it_gets(http):
    running = await http()
    running.engine.on_run = ran(
        stdout=b"5\n", stderr=b"hm", wall_time_s=0.5, cpu_time_s=0.25, memory_bytes=7
    )
    answer = await post(running.http, "/run_code", VERLS)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "status": "Success",
        "message": "",
        "compile_result": None,
        "run_result": {
            "status": "Finished",
            "execution_time": 0.5,
            "return_code": 0,
            "stdout": "5\n",
            "stderr": "hm",
            "verifier": {
                "status": "ACCEPTED",
                "cpu_time_s": 0.25,
                "memory_bytes": 7,
                "signal": None,
            },
        },
        "executor_pod_name": None,
        "files": {},
    }
    (task,) = running.engine.tasks
    assert task.program.language == "python"
    assert (task.program.source, task.stdin) == (b"print(input())", b"5\n")
    assert task.limits == LimitOverrides(cpu_time_s=10.0, memory_bytes=1024 * 1024 * 1024)
    # Their client gives up after 30 s: the 504 that makes it try again comes before that.
    assert task.deadline_s == 29.0


async def test_defaults_are_theirs(http):
    running = await http()
    answer = await run_code(running.http, "print(1)", executor="ignored")
    assert answer.status == 200
    (task,) = running.engine.tasks
    assert task == RunTask(
        program=task.program,
        stdin=b"",
        limits=LimitOverrides(cpu_time_s=10.0),
        deadline_s=29.0,
    )
    await run_code(running.http, "1", stdin=None, memory_limit_MB=0, run_timeout="2.5")
    assert running.engine.tasks[-1].limits == LimitOverrides(cpu_time_s=2.5)


@pytest.mark.parametrize(
    ("outcome", "top", "status", "code", "verdict"),
    [
        (ran(Status.RUNTIME_ERROR, exit_code=3), "Failed", "Finished", 3, "RUNTIME_ERROR"),
        (ran(Status.RUNTIME_ERROR, signal=11), "Failed", "Finished", -11, "RUNTIME_ERROR"),
        (
            ran(Status.TIME_LIMIT, signal=9, killer=Killer.CPU),
            "Failed",
            "TimeLimitExceeded",
            None,
            "TIME_LIMIT",
        ),
        (
            ran(Status.MEMORY_LIMIT, signal=9, killer=Killer.MEMORY),
            "Failed",
            "Finished",
            -9,
            "MEMORY_LIMIT",
        ),
        (
            ran(Status.MEMORY_LIMIT, exit_code=0, oom_kills=1),
            "Failed",
            "Finished",
            -9,
            "MEMORY_LIMIT",
        ),
        (
            ran(Status.OUTPUT_LIMIT, signal=9, killer=Killer.OUTPUT),
            "Failed",
            "Finished",
            -9,
            "OUTPUT_LIMIT",
        ),
    ],
)
async def test_how_a_program_ended(http, outcome, top, status, code, verdict):
    running = await http()
    running.engine.on_run = outcome
    said = (await run_code(running.http, "x")).json()
    result = said["run_result"]
    assert (said["status"], said["message"], said["compile_result"]) == (top, "", None)
    assert (result["status"], result["return_code"]) == (status, code)
    assert result["verifier"]["status"] == verdict


def compiled(*, ok=True, cpu_time_s=0.5, message="", **facts):
    facts.setdefault("exit_code", 0 if ok else 1)
    return CompileFacts(
        ok=ok, facts=RunFacts(cpu_time_s=cpu_time_s, wall_time_s=0.75, **facts), message=message
    )


async def test_compilers(http):
    running = await http()
    running.engine.info = lambda: type("Info", (), {"toolchains": {}})
    running.engine.on_run = ran(compiled=compiled(), stdout=b"1")
    said = (await run_code(running.http, "x", "cpp")).json()
    assert said["status"] == "Success"
    assert said["compile_result"]["status"] == "Finished"
    assert (said["compile_result"]["return_code"], said["compile_result"]["execution_time"]) == (
        0,
        0.75,
    )
    failed = compiled(ok=False, message="main.cpp:1: error")
    running.engine.on_run = ran(Status.COMPILE_ERROR, failed)
    said = (await run_code(running.http, "x", "cpp")).json()
    assert (said["status"], said["run_result"]) == ("Failed", None)
    assert said["compile_result"]["return_code"] == 1
    assert said["compile_result"]["stderr"] == "main.cpp:1: error"
    # One that ended well and left nothing.
    running.engine.on_run = ran(Status.COMPILE_ERROR, compiled(ok=False, exit_code=0))
    for language in ("java", "go", "D_ut"):
        said = (await run_code(running.http, "x", language)).json()
        assert said["compile_result"]["return_code"] == 1
    # There, a script is compiled when it runs.
    said = (await run_code(running.http, "x", "kotlin_script")).json()
    assert (said["compile_result"], said["run_result"]["return_code"]) == (None, 1)


async def test_time_of_compilers(http):
    running = await http()
    running.engine.info = lambda: type("Info", (), {"toolchains": {}})
    killed = compiled(ok=False, exit_code=None, signal=9, killer=Killer.CPU)
    for outcome in (ran(Status.COMPILE_ERROR, killed), ran(compiled=compiled(cpu_time_s=1.5))):
        running.engine.on_run = outcome
        said = (await run_code(running.http, "x", "cpp", compile_timeout=1)).json()
        assert (said["status"], said["run_result"]) == ("Failed", None)
        assert said["compile_result"]["status"] == "TimeLimitExceeded"
        assert said["compile_result"]["return_code"] is None
    said = (await run_code(running.http, "x", "cpp", compile_timeout=2)).json()
    assert said["status"] == "Success"


async def test_an_interpreter_finds_errors_when_it_runs(http):
    running = await http()
    failed = compiled(ok=False, message="SyntaxError: invalid syntax")
    running.engine.on_run = ran(Status.COMPILE_ERROR, failed)
    said = (await run_code(running.http, "x x")).json()
    assert (said["status"], said["compile_result"]) == ("Failed", None)
    assert (said["run_result"]["status"], said["run_result"]["return_code"]) == ("Finished", 1)
    assert "SyntaxError" in said["run_result"]["stderr"]


async def test_bytes_that_are_no_text_are_said_as_there(http):
    running = await http()
    running.engine.on_run = ran(stdout=b"\xff")
    said = (await run_code(running.http, "x")).json()
    assert said["run_result"]["stdout"].startswith(
        "[DecodeError] 'utf-8' codec can't decode byte 0xff"
    )


async def test_half_characters_in_the_code(http):
    running = await http()
    body = b'{"code": "# \\ud83d", "language": "python", "stdin": "\\udc00"}'
    assert (await post(running.http, "/run_code", body)).status == 200
    (task,) = running.engine.tasks
    assert (task.program.source, task.stdin) == ("# \ufffd".encode(), "\ufffd".encode())


# ---------------------------------------------------------------- 422


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"code": None}, ["body", "code"]),
        ({"code": 5}, ["body", "code"]),
        ({"language": "python2"}, ["body", "language"]),
        ({"language": None}, ["body", "language"]),
        ({"stdin": 5}, ["body", "stdin"]),
        ({"run_timeout": "soon"}, ["body", "run_timeout"]),
        ({"run_timeout": 0}, ["body", "run_timeout"]),
        ({"run_timeout": float("nan")}, ["body", "run_timeout"]),
        ({"run_timeout": -1}, ["body", "run_timeout"]),
        ({"compile_timeout": float("inf")}, ["body", "compile_timeout"]),
        ({"memory_limit_MB": 1.5}, ["body", "memory_limit_MB"]),
        ({"memory_limit_MB": "much"}, ["body", "memory_limit_MB"]),
        ({"files": []}, ["body", "files"]),
        ({"files": {"a": 5}}, ["body", "files", "a"]),
        ({"files": {"a": "not base64"}}, ["body", "files"]),
        ({"files": {"../a": ""}}, ["body", "files"]),
        ({"files": {"/a": ""}}, ["body", "files"]),
        ({"files": {"a\0b": ""}}, ["body", "files"]),
        ({"files": {"": ""}}, ["body", "files"]),
        ({"files": {"a/./b": ""}}, ["body", "files"]),
        ({"files": {"a": "", "a/b": ""}}, ["body", "files"]),
        ({"files": {"x" * 300: ""}}, ["body", "files"]),
        ({"files": {str(n): "" for n in range(300)}}, ["body", "files"]),
        ({"fetch_files": "a"}, ["body", "fetch_files"]),
        ({"fetch_files": [5]}, ["body", "fetch_files", 0]),
        ({"fetch_files": ["a/../../etc/passwd"]}, ["body", "fetch_files"]),
        ({"fetch_files": ["/etc/passwd"]}, ["body", "fetch_files"]),
    ],
)
async def test_fields_that_are_wrong(http, fields, where):
    running = await http()
    answer = await post(running.http, "/run_code", {**VERLS, **fields})
    assert answer.status == 422
    (problem,) = answer.json()["detail"]
    assert problem["loc"] == where
    assert problem["msg"]
    assert running.engine.tasks == []


@pytest.mark.parametrize("missing", ["code", "language"])
async def test_fields_that_are_missing(http, missing):
    running = await http()
    body = {name: value for name, value in VERLS.items() if name != missing}
    answer = await post(running.http, "/run_code", body)
    assert (answer.status, answer.json()["detail"][0]["type"]) == (422, "missing")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b"\xff\xfe", b"[" * 100_000, b"5", b"[]", b"null"]
)
async def test_bodies_that_are_wrong(http, body):
    running = await http()
    answer = await post(running.http, "/run_code", body)
    assert (answer.status, answer.json()["detail"][0]["loc"][0]) == (422, "body")
    assert running.engine.tasks == []


async def test_what_a_web_page_could_send_is_refused(http):
    """A page of another origin may post these without asking first."""
    running = await http()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = await post(running.http, "/run_code", VERLS, Content_Type=kind)
        assert (answer.status, "application/json" in answer.json()["detail"][0]["msg"]) == (
            422,
            True,
        )
    assert running.engine.tasks == []
    assert (await get(running.http, "/run_code")).status == 405


async def test_a_limit_over_the_ceiling_names_the_field(http):
    running = await http()

    def refuse(task):
        raise LimitError("limits.memory_bytes", "is over the ceiling")

    running.engine.on_run = refuse
    answer = await post(running.http, "/run_code", VERLS)
    assert answer.status == 422
    assert answer.json()["detail"] == [
        {"type": "value_error", "loc": ["body", "memory_limit_MB"], "msg": "is over the ceiling"}
    ]


async def test_bodies_that_are_too_big(http):
    running = await http(max_message_bytes=64 * 1024)
    body = {**VERLS, "code": "#" * 70_000}
    answer = await post(running.http, "/run_code", body)
    assert (answer.status, "65536" in answer.json()["detail"]) == (413, True)
    # The same without its length said in advance.
    chunk = b"8000\r\n" + b"#" * 0x8000 + b"\r\n"
    reader, writer = await send(
        running.http,
        "POST /run_code HTTP/1.1",
        chunk * 3 + b"0\r\n\r\n",
        {"Content-Type": "application/json", "Transfer-Encoding": "chunked", "Content-Length": ""},
    )
    assert (await receive(reader)).status == 413
    writer.close()
    assert running.engine.tasks == []
    assert running.gateway._admission.requests == running.gateway._admission.held_bytes == 0


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    "error",
    [
        SlotError("died"),
        BackendError("no slots"),
        OverloadedError("full", 2.0),
        DeadlineError("late"),
        RuntimeError("a bug"),
    ],
)
async def test_a_fault_is_504_and_never_a_verdict(http, error):
    running = await http()

    def fail(task):
        raise error

    running.engine.on_run = fail
    answer = await post(running.http, "/run_code", VERLS)
    assert answer.status == 504
    assert int(answer.headers["retry-after"]) >= 1
    assert type(error).__name__ in answer.json()["detail"]


async def test_a_full_queue_is_504(http):
    running = await http(max_queue=1)
    release = asyncio.Event()

    async def wait(task):
        await release.wait()
        return RunOutcome(Status.ACCEPTED, RunFacts(exit_code=0))

    running.engine.on_run = wait
    first = asyncio.create_task(post(running.http, "/run_code", VERLS))
    await running.engine.entered.wait()
    second = await post(running.http, "/run_code", VERLS)
    assert (second.status, "full" in second.json()["detail"]) == (504, True)
    release.set()
    assert (await first).status == 200


async def test_a_gateway_that_shuts_down_finishes_and_refuses(http):
    running = await http()
    release = asyncio.Event()

    async def wait(task):
        await release.wait()
        return RunOutcome(Status.ACCEPTED, RunFacts(exit_code=0))

    running.engine.on_run = wait
    first = asyncio.create_task(post(running.http, "/run_code", VERLS))
    await running.engine.entered.wait()
    stopping = asyncio.create_task(running.gateway.stop(60))
    while running.gateway._admission.accepting:
        await asyncio.sleep(0)
    assert (await post(running.http, "/run_code", VERLS)).status == 504
    assert (await get(running.http, "/v1/ping")).status == 503
    release.set()
    assert (await first).status == 200
    await stopping


async def test_a_client_that_goes_away_ends_its_run(http):
    running = await http()

    async def forever(task):
        await asyncio.Event().wait()

    running.engine.on_run = forever
    _, writer = await send(
        running.http,
        "POST /run_code HTTP/1.1",
        b'{"code": "x", "language": "python"}',
        {"Content-Type": "application/json"},
    )
    await running.engine.entered.wait()
    writer.close()
    await running.engine.cancelled_event.wait()
    await running.gateway._admission.wait_idle()
    assert running.engine.running == 0


async def test_a_request_that_never_arrives_gives_its_place_back(unused_engine):
    from verifier.gateway.admission import Admission
    from verifier.gateway.http import HttpServer, make_app
    from verifier.gateway.http_run import SandboxFusion

    admission = Admission(4, 1 << 20)
    admission.open()
    routes = SandboxFusion(unused_engine, admission, max_body_bytes=1000, body_s=0.01).routes()
    server = HttpServer("127.0.0.1:0", make_app(lambda: True, routes))
    server.start()
    try:
        reader, writer = await send(
            server.address,
            "POST /run_code HTTP/1.1",
            b"{",
            {"Content-Type": "application/json", "Content-Length": "100"},
        )
        head = await reader.readuntil(b"\r\n")
        assert b" 408 " in head
        writer.close()
        assert admission.requests == 0
    finally:
        await server.stop()


# ---------------------------------------------------------------- languages, Jupyter, files


def test_their_languages_are_all_known():
    assert list(languages_of_sandbox_fusion()) == LANGUAGES
    assert set(OURS) < set(LANGUAGES)


HINTS = {
    "go": "apt-get install golang-go",
    "D_ut": "apt-get install ldc",
    "kotlin_script": "apt-get install kotlin",
    "cuda": "the sandbox hands no GPU in",
    "python_gpu": "language=python",
}


@pytest.mark.parametrize("language", [*HINTS, "R", "pytest"])
async def test_a_language_that_is_not_built(http, language):
    running = await http()
    answer = await run_code(running.http, "x", language)
    said = answer.json()
    assert (answer.status, said["status"]) == (200, "SandboxError")
    message = f"language {language} is not built here; there are python"
    assert said["message"].startswith(message)
    assert HINTS.get(language, "") in said["message"]
    assert (said["compile_result"], said["run_result"]) == (None, None)
    assert running.engine.tasks == []


async def test_jupyter_is_refused(http):
    running = await http()
    answer = await post(running.http, "/run_jupyter", {"cells": ["1"]})
    assert (answer.status, "/run_code" in answer.json()["detail"]) == (501, True)


async def test_files_go_in_and_come_back(http):
    running = await http()
    running.engine.on_run = ran(files=(("out.bin", b"\x00\xff"),))
    answer = await run_code(
        running.http,
        "x",
        files={
            "data/in.txt": base64.b64encode(b"hello").decode(),
            "none.txt": None,
            "IGNORE_THIS_FILE.md": "not even base64",
        },
        fetch_files=["out.bin", "missing", "out.bin"],
    )
    assert answer.json()["files"] == {"out.bin": base64.b64encode(b"\x00\xff").decode()}
    (task,) = running.engine.tasks
    assert task.files == (("data/in.txt", b"hello"),)
    assert task.fetch == ("out.bin", "missing")


async def test_one_source_is_compiled_once(serve):
    """verl sends a program case by case."""
    gate = asyncio.Event()
    sandbox = FakeSandbox(compile_gate=gate)
    running = await serve(engine=Engine(sandbox, slots=2), http="127.0.0.1:0")
    calls = [
        asyncio.create_task(run_code(running.http, "print(input())", language, stdin=str(n)))
        for n in range(10)
        for language in ("python", "cpp")
    ]
    while len(sandbox.compiles) < 2:
        await asyncio.sleep(0)
    gate.set()
    answers = [answer.json() for answer in await asyncio.gather(*calls)]
    assert [a["run_result"]["stdout"] for a in answers] == [
        str(n) for n in range(10) for _ in (1, 2)
    ]
    assert len(sandbox.compiles) == 2


def test_the_page_has_every_field_and_its_default():
    page = (Path(__file__).resolve().parents[2] / "docs" / "http.md").read_text("utf-8")
    for name, field in RunCode.model_fields.items():
        default = "required" if field.is_required() else f"`{json.dumps(field.default)}`"
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert row.split("|")[2].strip() in (default, default.strip("`")), row
