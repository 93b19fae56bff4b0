"""What `POST /run_code` answers: a `RunOutcome` as Sandbox Fusion's JSON.

Its two levels say different things. `run_result.status` is how a command ended: Finished (whatever
its exit code), TimeLimitExceeded (then there is no exit code), Error. The top `status` follows:
Success, Failed (a command that ran out of time, or an exit code that is not 0), SandboxError. What
it has no word for is under `verifier` in each result: our verdict, CPU time, memory, signal; and
beside the results where a test framework ran: what it said of each test.
"""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

from verifier.types import CompileFacts, Killer, RunFacts, RunOutcome, Status

__all__ = ["answer", "sandbox_error"]

FINISHED, TIME_LIMIT = "Finished", "TimeLimitExceeded"
SUCCESS, FAILED, SANDBOX_ERROR = "Success", "Failed", "SandboxError"

# As Sandbox Fusion has them, where a compiler runs before the program.
_COMPILED = ("cpp", "go", "java", "rust", "scala", "junit", "D_ut", "verilog", "swift", "cuda")
_KILLED = -9

Json = dict[str, Any]


def answer(outcome: RunOutcome, language: str, compile_timeout: float) -> Json:
    """The answer of a run.

    Args:
        outcome: Of the engine.
        language: Sandbox Fusion's name.
        compile_timeout: CPU time of the compiler, in seconds. It is judged by what was recorded
            when the program was compiled, now or before.
    """
    compile_result, run_result = None, None
    compiled = outcome.compile
    failed = outcome.status is Status.COMPILE_ERROR
    if compiled is not None and language in _COMPILED:
        compile_result = _compile_result(compiled, compile_timeout)
        failed = failed or compile_result["status"] != FINISHED
    elif compiled is not None and failed:
        # There, the interpreter finds the error when it runs.
        run_result = _command(compiled.facts, FINISHED, 1, stderr=compiled.message)
    if not failed:
        run_result = _run_result(outcome)
    results = [result for result in (compile_result, run_result) if result is not None]
    fine = all(result["status"] == FINISHED and result["return_code"] == 0 for result in results)
    said: Json = {
        "status": SUCCESS if fine else FAILED,
        "message": "",
        "compile_result": compile_result,
        "run_result": run_result,
        "executor_pod_name": None,
        "files": {
            name: base64.b64encode(data).decode("ascii")
            for name, data in (() if failed else outcome.files)
        },
    }
    if outcome.tests:
        said["verifier"] = {"tests": [dataclasses.asdict(test) for test in outcome.tests]}
    return said


def sandbox_error(message: str) -> Json:
    """The answer where nothing can be run, now or ever."""
    return {
        "status": SANDBOX_ERROR,
        "message": message,
        "compile_result": None,
        "run_result": None,
        "executor_pod_name": None,
        "files": {},
    }


def _compile_result(compiled: CompileFacts, timeout: float) -> Json:
    facts = compiled.facts
    if facts.killer in (Killer.CPU, Killer.WALL) or facts.cpu_time_s > timeout:
        return _command(facts, TIME_LIMIT, None, stderr=compiled.message)
    code = _exit_code(facts)
    # A compiler that ended well and left nothing to run failed.
    return _command(facts, FINISHED, code if compiled.ok else code or 1, stderr=compiled.message)


def _run_result(outcome: RunOutcome) -> Json:
    facts, status = outcome.facts, outcome.status
    if status is Status.TIME_LIMIT:
        return _command(facts, TIME_LIMIT, None, status)
    code = _exit_code(facts)
    if status in (Status.MEMORY_LIMIT, Status.OUTPUT_LIMIT):
        code = code or _KILLED
    return _command(facts, FINISHED, code, status)


def _command(
    facts: RunFacts,
    status: str,
    code: int | None,
    verdict: Status | None = None,
    stderr: str | None = None,
) -> Json:
    return {
        "status": status,
        "execution_time": facts.wall_time_s,
        "return_code": code,
        "stdout": _text(facts.stdout),
        "stderr": _text(facts.stderr) if stderr is None else stderr,
        "verifier": {
            "status": None if verdict is None else verdict.value,
            "cpu_time_s": facts.cpu_time_s,
            "memory_bytes": facts.memory_bytes,
            "signal": facts.signal,
        },
    }


def _exit_code(facts: RunFacts) -> int:
    if facts.signal is not None:
        return -facts.signal
    return _KILLED if facts.exit_code is None else facts.exit_code


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return f"[DecodeError] {error}"  # as there
