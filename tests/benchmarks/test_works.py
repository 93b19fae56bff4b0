"""Each work runs, at its smallest, and says something sane. Nothing is said about speed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import sys
import textwrap

import pytest

from benchmarks import steps
from benchmarks.bench.__main__ import KEYS, main, measure, parser, shown_command
from benchmarks.bench.counting import CountingProxy
from benchmarks.bench.floor import Yardsticks
from benchmarks.bench.gateways import Gateway
from benchmarks.bench.lab import Options
from benchmarks.bench.peers import GoJudge, RunCode
from benchmarks.bench.prime import PrimeCode
from benchmarks.bench.values import NotMeasuredError
from benchmarks.bench.work import TRUTH, distinct, fenced
from verifier.sandbox.controls import SWITCH

ACCEPT = "memory_limit,cpu_accounting,process_limit"
only_namespaces = pytest.mark.parametrize("backend", ["namespaces"], indirect=True)


@pytest.mark.namespaces
@only_namespaces
async def test_the_yardsticks_run_the_program(backend):
    yardsticks = Yardsticks(2)
    try:
        await yardsticks.start()
        for way in ("fork", "floor", "proc", "tmpfs", "exec"):
            assert await yardsticks.cases_per_s(way, 0.01) > 0
        assert all(ms > 0 for ms in await yardsticks.latencies_ms("floor", 0.05))
    finally:
        await yardsticks.close()


@pytest.mark.namespaces
@only_namespaces
async def test_all_rows(backend, tiny):
    keys = [key for key in KEYS if key != "cpp"]
    options = Options((backend,), sizes=tiny, long=True, accept=ACCEPT)
    rows = {row.key: row for row in await measure(options, keys)}
    assert list(rows) == keys
    for key in ("cases", "latency", "true", "suite", "soak", "queue"):
        row = rows[key]
        assert row.verdict in {"met", "missed"}, row
        assert all(check.ok is not None for check in row.checks), row
    names = [series.name for series in rows["cases"].series]
    assert names[:2] == ["bare warm fork", "floor"]
    assert "namespaces / floor" in names
    # There is no peer here; each says what to give.
    assert "--run-code-url" in rows["run-code"].value
    assert rows["run-code"].verdict == "not measured"
    facts = rows["suite"].facts
    assert facts["sent_bytes"] >= facts["suite_bytes"] >= 300_000
    assert rows["soak"].series[0].unit == "MB"
    assert rows["queue"].facts["queued_then"] <= 30
    # One repeat proves nothing.
    assert "0 of 2 in 1 repeats" in rows["time-limits"].value
    assert rows["time-limits"].verdict == "not measured"


@pytest.mark.namespaces
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this host")
@only_namespaces
async def test_cpp(backend, tiny):
    (row,) = await measure(Options((backend,), sizes=tiny, accept=ACCEPT), ["cpp"])
    names = [series.name for series in row.series]
    assert names == ["bare g++", "namespaces, first", "namespaces, again"]
    assert "compiles" in row.value


def test_the_command_writes_json_and_a_page(backend, tmp_path, capsys):
    out, page = tmp_path / "out.json", tmp_path / "page.md"
    argv = ["--quick", "--only", "true", "--backends", backend, "--accept", ACCEPT]
    assert main([*argv, "--json", str(out), "--markdown", str(page)]) == 0
    found = json.loads(out.read_text())
    (row,) = found["rows"]
    assert row["key"] == "true"
    assert [series["name"] for series in row["series"]] == ["bare spawn", backend]
    assert {"cpu", "cores", "kernel", "load", "cgroup"} <= set(found["machine"])
    assert "/bin/true" in page.read_text()
    assert "<= 3 ms p50" in capsys.readouterr().out


@pytest.mark.namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="control runs are for root")
@only_namespaces
async def test_the_ladder_has_a_figure_for_each_step(backend, monkeypatch, tmp_path):
    monkeypatch.setenv(SWITCH, "1")  # so that it is unset again
    series = await steps.ladder(1, 0.01)
    names = [row[0] for row in steps.rows(series)]
    assert names == [*steps.YARDSTICKS, *steps.SLOTS, steps.ENGINE, steps.OWN, steps.GRPC]
    assert all(one.median > 0 for one in series.values())
    steps.write(tmp_path / "page.md", series)
    assert f"| {steps.GRPC} |" in (tmp_path / "page.md").read_text()


def test_a_page_shows_no_place_of_this_machine():
    given = parser().parse_args(
        ["--long", "--only", "cases", "--verl-python", "/home/me/python", "--json", "/tmp/out"]
    )
    shown = "scripts/bench --long --only cases --verl-python PY --json FILE"
    assert shown_command(vars(given)) == shown


async def test_a_backend_that_does_not_start_says_why():
    gateway = Gateway("docker:no-such-runtime", slots=1)
    with pytest.raises(NotMeasuredError, match=r"docker:no-such-runtime does not start here: .+"):
        await gateway.start()
    assert gateway.pid == 0


async def test_the_proxy_counts_what_goes_there():
    async def shout(reader, writer):
        while data := await reader.read(1000):
            writer.write(data.upper() * 2)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, CountingProxy(f"127.0.0.1:{port}") as proxy:
        reader, writer = await asyncio.open_connection(*proxy.target.split(":"))
        writer.write(b"a" * 12_345)
        writer.write_eof()
        assert await reader.read() == b"A" * 24_690
        writer.close()
        assert proxy.sent_bytes == 12_345


@pytest.mark.parametrize(
    ("binary", "why"), [(None, "give --go-judge"), ("/no/judge", "no program")]
)
async def test_no_go_judge(binary, why):
    with pytest.raises(NotMeasuredError, match=why):
        await GoJudge(binary, 1).start()


JUDGE = """\
#!{python}
# What go-judge's page says of POST /run, with neither limits nor a sandbox.
import http.server, json, subprocess, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (cmd,) = body["cmd"]
        given = cmd["files"][0]["content"]
        done = subprocess.run(cmd["args"], input=given, capture_output=True, text=True)
        files = dict(zip(("stdout", "stderr"), (done.stdout, done.stderr)))
        status = "Nonzero Exit Status" if done.returncode else "Accepted"
        data = json.dumps([dict(status=status, exitStatus=done.returncode, files=files)]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

host, port = sys.argv[sys.argv.index("-http-addr") + 1].split(":")
http.server.ThreadingHTTPServer((host, int(port)), Handler).serve_forever()
"""


async def test_a_go_judge_is_started_asked_and_stopped(tmp_path):
    """A stand-in for its binary; the real one is --go-judge's."""
    binary = tmp_path / "go-judge"
    binary.write_text(JUDGE.format(python=sys.executable))
    binary.chmod(0o755)
    judge = GoJudge(str(binary), 1)
    try:
        await judge.start()
        assert await judge.cases_per_s(0.01) > 0
    finally:
        await judge.close()
    with pytest.raises(NotMeasuredError, match="Connection"):
        await judge.cases_per_s(0.01)


async def test_nobody_answers_at_a_run_code():
    with pytest.raises(NotMeasuredError, match=r"127\.0\.0\.1:1"):
        await RunCode("http://127.0.0.1:1/run_code", 1).cases_per_s(0.01)


@pytest.mark.namespaces
@only_namespaces
async def test_our_own_run_code_is_a_peer(backend):
    """The one /run_code that every machine has."""
    gateway = Gateway(backend, slots=1, accept=ACCEPT, settings={"http": "127.0.0.1:0"})
    async with gateway:
        rate = await RunCode(f"http://{gateway.http}/run_code", 1).cases_per_s(0.01)
    assert rate > 0


async def test_no_verl(tmp_path):
    with pytest.raises(NotMeasuredError, match=r"cannot import verl: .*verl"):
        await PrimeCode(sys.executable, 1).start()


async def test_prime_code_as_verl_has_it(tmp_path):
    """A stand-in for verl, so that the worker runs everywhere; the real one is --verl-python's."""
    package = tmp_path / "verl" / "utils" / "reward_score"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").touch()
    (package / "prime_code.py").write_text(
        "def compute_score(completion, test_cases, continuous=False):\n"
        "    return 'sum' in completion and len(test_cases['inputs']) == 10, []\n"
    )
    python = tmp_path / "python"
    python.write_text(
        textwrap.dedent(f"""\
            #!/bin/sh
            PYTHONPATH={tmp_path} exec {sys.executable} "$@"
            """)
    )
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    prime = PrimeCode(str(python), 2)
    try:
        await prime.start()
        for pool in (False, True):
            responses = [fenced(distinct("print(sum(map(int, input().split())))\n"))] * 3
            assert await prime.score(responses, TRUTH, pool=pool) > 0
    finally:
        await prime.close()
