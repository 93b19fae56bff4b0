"""`verifier extract`, `run` and `doctor`."""

from __future__ import annotations

import json

import pytest

import verifier.engine
from tests.cli.helpers import invoke, plain
from verifier.cli.common import ExitCode
from verifier.errors import BackendError
from verifier.sandbox.base import GuaranteeName
from verifier.testing import FakeSandbox

RESPONSE = """<think>draft</think>
First:
```text
not this
```
Then:
```python
print("this \u00e9")
```
"""


def test_extract_separates_the_program_from_the_explanation(tmp_path):
    file = tmp_path / "response.md"
    file.write_text(RESPONSE, encoding="utf-8")
    done = invoke("extract", file)
    assert done.exit_code == ExitCode.OK
    assert done.stdout == 'print("this \u00e9")\n'
    told = plain(done.stderr)
    assert "language: python" in told
    assert "block 2 of 2" in told
    assert "why:" in told


def test_extract_reads_standard_input_and_prints_json():
    done = invoke("extract", "-", "--json", stdin=RESPONSE)
    found = json.loads(done.stdout)
    assert (found["found"], found["language"], found["block_index"]) == (True, "python", 1)
    assert found["source"].startswith("print(")
    assert found["reasoning_cut"] > 0


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_extract_says_when_there_is_no_program(extra):
    done = invoke("extract", "-", *extra, stdin="I cannot solve this.")
    assert done.exit_code == ExitCode.INCOMPLETE
    if extra:
        found = json.loads(done.stdout)
        assert (found["found"], found["source"]) == (False, None)
        assert found["reason"]
    else:
        assert done.stdout == ""


def test_extract_prefers_the_entry_point():
    text = "```python\ndef f():\n    return 1\n```\n```python\nprint(f())\n```\n"
    done = invoke("extract", "-", "--entry-point", "f", "--json", stdin=text)
    assert json.loads(done.stdout)["block_index"] == 0


@pytest.mark.parametrize(
    "args", [["-", "--policy", "best"], ["-", "--language", "brainrot"], ["absent.md"]]
)
def test_extract_refuses_what_it_does_not_know(args):
    assert invoke("extract", *args, stdin="").exit_code == ExitCode.USAGE


def test_extract_takes_any_bytes():
    done = invoke("extract", "-", "--json", stdin=b"\xff\xfe```python\nprint('\xe9')\n```")
    assert done.exit_code in {ExitCode.OK, ExitCode.INCOMPLETE}
    json.loads(done.stdout)


# ---------------------------------------------------------------- run


def test_run_prints_the_output_and_one_line_about_it(tmp_path, sandbox):
    program = tmp_path / "double.py"
    program.write_text("print(2 * int(input()))")
    done = invoke("run", program, "--stdin", "-", stdin="21\n")
    assert done.exit_code == ExitCode.OK, done.output
    assert done.stdout == "42\n"
    assert done.stderr.startswith("ACCEPTED: exit code 0, 250 ms CPU")
    _, data = sandbox.runs[0]
    assert data == b"21\n"


def test_run_as_json_and_with_limits(tmp_path, sandbox):
    program = tmp_path / "double"
    program.write_text("print(2 * int(input()))")
    limits = ["--cpu-time", "2", "--wall-time", "3", "--memory-mb", "64"]
    done = invoke("run", program, "--language", "python", "--json", *limits)
    answer = json.loads(done.stdout)
    assert (answer["status"], answer["exit_code"], answer["stdout"]) == ("ACCEPTED", 0, "0\n")
    job, _ = sandbox.runs[0]
    assert (job.limits.cpu_time_s, job.limits.wall_time_s) == (2.0, 3.0)
    assert job.limits.memory_bytes == 64 * 1024 * 1024


def test_a_program_that_fails_is_exit_code_1(tmp_path, monkeypatch):
    from verifier.types import RunFacts

    fake = FakeSandbox(lambda job, data: RunFacts(exit_code=3, stderr=b"boom\n", stderr_bytes=5))
    monkeypatch.setattr(verifier.engine, "make_sandbox", lambda *a, **k: fake)
    program = tmp_path / "a.py"
    program.write_text("raise SystemExit(3)")
    done = invoke("run", program)
    assert done.exit_code == ExitCode.INCOMPLETE
    assert "boom" in done.stderr
    assert "RUNTIME_ERROR: exit code 3" in plain(done.stderr)


@pytest.mark.parametrize("name", ["a.unknown", "a"])
def test_run_needs_to_know_the_language(tmp_path, name, sandbox):
    program = tmp_path / name
    program.write_text("x")
    done = invoke("run", program)
    assert done.exit_code == ExitCode.USAGE
    assert "--language" in plain(done.stderr)


def test_run_refuses_a_limit_that_makes_no_sense(tmp_path, sandbox):
    program = tmp_path / "a.py"
    program.write_text("x")
    done = invoke("run", program, "--cpu-time", "-1")
    assert done.exit_code == ExitCode.USAGE
    assert "cpu_time_s" in plain(done.stderr)


# ---------------------------------------------------------------- doctor


def doctor(monkeypatch, fake, *args):
    monkeypatch.setattr(verifier.engine, "make_sandbox", lambda *a, **k: fake)
    return invoke("doctor", *args)


def test_doctor_is_content_when_everything_holds(monkeypatch):
    libraries = {"python": {"numpy": "1.24.2"}}
    done = doctor(monkeypatch, FakeSandbox(packages=libraries), "--json")
    assert done.exit_code == ExitCode.OK
    found = json.loads(done.stdout)
    assert found["ready"]
    assert found["missing"] == []
    assert {g["name"] for g in found["guarantees"]} == {name.value for name in GuaranteeName}
    assert found["toolchains"]["python"] == "fake"
    assert found["packages"] == libraries
    assert found["host"]["cpus"] >= 1


def test_doctor_names_what_is_missing_and_what_to_type(monkeypatch):
    fake = FakeSandbox(missing={GuaranteeName.MEMORY_LIMIT})
    assert json.loads(doctor(monkeypatch, fake, "--json").stdout)["missing"] == ["memory_limit"]
    done = doctor(monkeypatch, fake)
    assert done.exit_code == ExitCode.UNAVAILABLE
    told = plain(done.stdout)
    assert "script it otherwise" in told
    assert "--accept memory_limit" in told
    assert "absent" in told  # a language whose toolchain the fake does not have


def test_doctor_looks_at_the_backend_that_the_settings_name(monkeypatch):
    """As serve, score and run would take it; a flag wins."""
    monkeypatch.setenv("VERIFIER_BACKEND", "docker")
    assert json.loads(doctor(monkeypatch, FakeSandbox(), "--json").stdout)["backend"] == "docker"
    flagged = doctor(monkeypatch, FakeSandbox(), "--json", "--backend", "namespaces")
    assert json.loads(flagged.stdout)["backend"] == "namespaces"


def test_doctor_names_the_whole_command_of_a_backend_without_isolation(monkeypatch):
    fake = FakeSandbox(missing={GuaranteeName.SECCOMP})
    told = plain(doctor(monkeypatch, fake, "--backend", "process").stdout)
    assert "verifier serve --backend process --allow-unsafe --accept seccomp" in told


def test_doctor_says_where_crashes_start_something_outside(monkeypatch):
    """The kernel's handler of core dumps is outside of every jail: no guarantee, but said."""
    said = "the kernel calls this processor vulnerable (mds): update it"
    monkeypatch.setattr("verifier.sandbox.notes.host_notes", lambda: (said,))
    assert json.loads(doctor(monkeypatch, FakeSandbox(), "--json").stdout)["notes"] == [said]
    done = doctor(monkeypatch, FakeSandbox())
    assert done.exit_code == ExitCode.OK
    assert "note: the kernel calls this processor vulnerable" in plain(done.stdout)


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_a_backend_that_is_not_there_is_a_finding(monkeypatch, extra):
    def absent(*_args, **_options):
        raise BackendError("no Docker engine answers; start one: dockerd")

    monkeypatch.setattr(verifier.engine, "make_sandbox", absent)
    done = invoke("doctor", "--backend", "docker", *extra)
    assert done.exit_code == ExitCode.UNAVAILABLE
    assert "start one: dockerd" in plain(done.stdout)
