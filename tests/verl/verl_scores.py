"""Runs under the python of the verl environment: what verl's own scorers say of rows.

    python verl_scores.py ROWS.json SCORES.json

Nothing of ours is imported. `prime_code` runs as it is. `sandbox_fusion` does too, but for
`call_sandbox_api`, its HTTP request: in its place the program is run by a plain subprocess, and the
answer has the form that a Sandbox Fusion service gives. Rows may state a time limit; then it
replaces the 5 and 10 seconds of `prime_code`, so that a program that never ends costs seconds.

The scorers' modules are imported without the `__init__` of the packages above them, which load
torch: `prime_code` forks a process for every check, and that is much cheaper from a small one.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import types
from pathlib import Path


def without_init(name):
    """Put a package into `sys.modules` as its folders, without running it."""
    spec = importlib.util.find_spec(name)
    package = types.ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = package


without_init("verl")
without_init("verl.utils")
prime_code = importlib.import_module("verl.utils.reward_score.prime_code")
sandbox_fusion = importlib.import_module("verl.utils.reward_score.sandbox_fusion")
sandbox_fusion_utils = importlib.import_module("verl.utils.reward_score.sandbox_fusion.utils")

WORKERS = 2
TIMEOUT_S = 10
# Programs run with nothing around them here: what they take is bounded.
SPARE_BYTES = 1536 * 1024 * 1024
FILE_BYTES = 64 * 1024 * 1024
STATUS_CODES = {
    "success": True,
    "wrong_answer": False,
    "runtime_error": -2,
    "timeout": -3,
    "compile_error": -4,
    "compile_error_skipped": -4,
}

check_as_shipped = prime_code.apps_check_correctness


def prime(row, *, continuous):
    """`prime_code.compute_score`, as data."""

    def check(in_outs, generation, timeout, debug):
        return check_as_shipped(in_outs, generation, row["timeout_s"] or timeout, debug)

    prime_code.apps_check_correctness = check
    try:
        score, metadata = prime_code.compute_score(row["response"], row["truth"], continuous)
    except Exception as error:  # noqa: BLE001 - an answer too
        return {"raised": type(error).__name__}
    return {"score": score, "type": type(score).__name__, "metadata": metadata}


def prime_calls(row):
    """`prime_code`'s check of each case of a suite that calls a function; None for other suites.

    `compute_score` itself forgets the function's name when it goes from case to case.
    """
    try:
        truth = json.loads(row["truth"]) if isinstance(row["truth"], str) else row["truth"]
        name, pairs = truth["fn_name"], list(zip(truth["inputs"], truth["outputs"], strict=False))
    except (KeyError, TypeError, ValueError):
        return None
    if name is None:
        return None
    code = row["response"].rpartition("```python")[2].partition("```")[0]
    said = []
    for given, wanted in pairs[:10]:
        one = {"fn_name": name, "inputs": [given], "outputs": [wanted]}
        result, metadata = check_as_shipped(one, code, row["timeout_s"] or TIMEOUT_S, debug=False)
        said.append({"res": str(result), "metadata": metadata[0] if len(metadata) else {}})
    return said


def fusion(row, *, continuous):
    """`sandbox_fusion.compute_score`, as data."""
    score, metadata = sandbox_fusion.compute_score(
        "http://sandbox.invalid/run_code",
        threading.Semaphore(1),
        1024,
        row["response"],
        # It writes defaults into the dict that it is given.
        json.loads(json.dumps(row["truth"])),
        continuous,
        row["timeout_s"] or TIMEOUT_S,
    )
    codes = [STATUS_CODES.get(m["status"], -1) if "status" in m else None for m in metadata]
    errors = [m["error"] for m in metadata if "error" in m]
    return {"score": score, "type": type(score).__name__, "codes": codes, "errors": errors}


def run_program(
    sandbox_fusion_url,
    code,
    stdin,
    compile_timeout,
    run_timeout,
    memory_limit_mb,
    language="python",
):
    """In the place of `call_sandbox_api`."""
    assert language == "python"
    with tempfile.TemporaryDirectory() as folder, Path(folder, "out").open("w+b") as out:
        main = Path(folder, "main.py")
        main.write_bytes(code.encode("utf-8", "replace"))
        process = subprocess.Popen(
            [sys.executable, "-s", str(main)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
            start_new_session=True,
        )
        run = {"status": "Finished", "execution_time": 0.0}
        given = None if stdin is None else stdin.encode("utf-8", "replace")
        try:
            _, errors = process.communicate(given, timeout=run_timeout)
        except subprocess.TimeoutExpired:
            run["status"] = "TimeLimitExceeded"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if run["status"] == "TimeLimitExceeded":
            process.communicate()
        else:
            run["return_code"] = process.returncode
            run["stderr"] = errors.decode("utf-8", "replace")
        out.seek(0)
        run["stdout"] = out.read().decode("utf-8", "replace")
    right = run["status"] == "Finished" and process.returncode == 0
    return {"status": "Success" if right else "Failed", "run_result": run}, None


def scores(row):
    """All answers about one row."""
    said = {"id": row["id"]}
    if "prime" in row["scorers"]:
        said["prime"] = prime(row, continuous=True)
        said["prime_calls"] = prime_calls(row)
        if row["both_modes"]:
            said["prime_plain"] = prime(row, continuous=False)
    if "sf" in row["scorers"]:
        said["sf"] = fusion(row, continuous=False)
        if row["both_modes"]:
            said["sf_ten"] = fusion(row, continuous=True)
    return said


def bounded():
    """Limits that children inherit: a program that eats memory or disk must not eat the machine."""
    used = next(
        int(line.split()[1]) * 1024
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmData:")
    )
    resource.setrlimit(resource.RLIMIT_DATA, (used + SPARE_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def work(rows, path):
    """A worker: its rows, one line of JSON each."""
    bounded()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    with Path(path).open("w", encoding="ascii") as file:
        for row in rows:
            file.write(json.dumps(scores(row), default=str) + "\n")
            file.flush()


def main(rows_path, scores_path):
    sandbox_fusion_utils.call_sandbox_api = run_program
    rows = json.loads(Path(rows_path).read_text("utf-8"))
    children = {}
    for number in range(WORKERS):
        part = f"{scores_path}.{number}"
        child = os.fork()
        if child == 0:
            status = 1
            try:
                work(rows[number::WORKERS], part)
                status = 0
            finally:
                os._exit(status)
        children[child] = part
    lines = []
    for child, part in children.items():
        _, status = os.waitpid(child, 0)
        if status != 0:
            raise SystemExit(f"a worker ended with status {status}")
        lines += Path(part).read_text("ascii").splitlines()
    answer = {"verl": importlib.metadata.version("verl"), "rows": [json.loads(x) for x in lines]}
    Path(scores_path).write_text(json.dumps(answer), "ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
