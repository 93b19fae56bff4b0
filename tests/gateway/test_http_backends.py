"""Sandbox Fusion's interface over HTTP, with the real sandboxes behind it."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from http_client import run_code

from verifier.engine import Engine

pytestmark = pytest.mark.timeout(170)


@pytest.fixture
async def served(serve, sandbox_of):
    sandbox = sandbox_of()
    engine = Engine(sandbox, slots=2, accept=frozenset(sandbox.accepted))
    running = await serve(engine=engine, http="127.0.0.1:0")

    async def run(code, language="python", **fields):
        answer = await run_code(running.http, code, language, **fields)
        assert answer.status == 200, answer.body
        return answer.json()

    run.languages = engine.info().toolchains
    run.engine = engine
    return run


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_python_over_http(served):
    said = await served("import sys\nprint(input())\nsys.stderr.write('e')", stdin="né\n")
    assert (said["status"], said["compile_result"]) == ("Success", None)
    result = said["run_result"]
    assert (result["status"], result["return_code"]) == ("Finished", 0)
    assert (result["stdout"], result["stderr"]) == ("né\n", "e")
    assert result["execution_time"] > 0
    failed = await served("import sys; sys.exit(3)")
    assert (failed["status"], failed["run_result"]["return_code"]) == ("Failed", 3)
    crashed = await served("1/0")
    assert (crashed["status"], crashed["run_result"]["return_code"]) == ("Failed", 1)
    assert "ZeroDivisionError" in crashed["run_result"]["stderr"]
    killed = await served("import os; os.kill(os.getpid(), 11)")
    assert killed["run_result"]["return_code"] == -11
    broken = await served("print(")
    assert (broken["status"], broken["run_result"]["return_code"]) == ("Failed", 1)
    assert "SyntaxError" in broken["run_result"]["stderr"]


async def test_limits_over_http(served):
    slow = await served("while True: pass", run_timeout=0.5)
    assert slow["status"] == "Failed"
    assert slow["run_result"]["status"] == "TimeLimitExceeded"
    assert slow["run_result"]["return_code"] is None
    big = await served("x = bytearray(10**9)", memory_limit_MB=64)
    assert (big["status"], big["run_result"]["status"]) == ("Failed", "Finished")
    assert big["run_result"]["return_code"] != 0
    assert big["run_result"]["verifier"]["status"] == "MEMORY_LIMIT"
    loud = await served("while True: print('x' * 100000)")
    assert (loud["status"], loud["run_result"]["return_code"]) == ("Failed", -9)
    assert loud["run_result"]["verifier"]["status"] == "OUTPUT_LIMIT"


async def test_compiled_programs_over_http(served):
    if "cpp" not in served.languages:
        pytest.skip("no C++ here")
    echo = "#include <iostream>\nint main() { int a; std::cin >> a; std::cout << a + 1; }"
    for number in (1, 2):
        said = await served(echo, "cpp", stdin=str(number))
        assert said["status"] == "Success"
        assert said["run_result"]["stdout"] == str(number + 1)
        assert (said["compile_result"]["status"], said["compile_result"]["return_code"]) == (
            "Finished",
            0,
        )
    broken = await served("int main() { return x; }", "cpp")
    assert (broken["status"], broken["run_result"]) == ("Failed", None)
    assert broken["compile_result"]["return_code"] == 1
    assert "error" in broken["compile_result"]["stderr"]


PROGRAM_WITH_FILES = """
import os, sys, helper
print(helper.NAME, open("data/in.txt").read(), input())
os.makedirs("made", exist_ok=True)
open("made/out.bin", "wb").write(bytes(range(256)))
os.symlink("/etc/hostname", "link")
os.mkfifo("pipe")
sys.exit(int(sys.stdin.read()))
"""


async def test_files_over_http(served):
    fields = {
        "files": {"helper.py": encoded(b"NAME = 'h'"), "data/in.txt": encoded(b"in")},
        "fetch_files": ["made/out.bin", "data/in.txt", "pipe", "none", "made"],
    }
    for code in (0, 5):
        said = await served(PROGRAM_WITH_FILES, stdin=f"x\n{code}", **fields)
        assert said["run_result"]["return_code"] == code, said
        assert said["run_result"]["stdout"] == "h in x\n"
        assert said["files"] == {
            "made/out.bin": encoded(bytes(range(256))),
            "data/in.txt": encoded(b"in"),
        }
    # The next run finds nothing of it.
    empty = await served("import os; print(os.listdir())", fetch_files=["made/out.bin"])
    assert (empty["run_result"]["stdout"], empty["files"]) == ("[]\n", {})
    killed = await served("import os; os.kill(os.getpid(), 6)", fetch_files=["a"])
    assert killed["run_result"]["return_code"] == -6
    stopped = await served("while True: pass", run_timeout=0.5, fetch_files=["a"])
    assert stopped["run_result"]["status"] == "TimeLimitExceeded"
    flood = "open('a', 'wb').write(bytes(20 * 2**20))\nopen('b', 'w').write('b')"
    many = await served(flood, fetch_files=["a", "b"])
    assert many["files"] == {"b": encoded(b"b")}


FORGE = """
import os
for fd in range(3, 20):
    try:
        os.write(fd, b'[["x", 1]]\\nx')
    except OSError:
        pass
"""


async def test_a_program_cannot_forge_files_that_were_not_asked_for(served):
    said = await served(FORGE, fetch_files=["a"])
    assert said["files"] == {}
    assert said["run_result"]["return_code"] == 0


async def test_headers_for_a_compiler(served):
    if "cpp" not in served.languages:
        pytest.skip("no C++ here")
    said = await served(
        '#include "h.h"\n#include <cstdio>\nint main() { std::printf("%d", X); }',
        "cpp",
        files={"h.h": encoded(b"#define X 7")},
    )
    assert (said["status"], said["run_result"]["stdout"]) == ("Success", "7")
