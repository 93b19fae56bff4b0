"""One worker: reads a line `[operation, args, cpu_s]`, answers with a line `[kind, value]`.

kind is "value", "missing" (a package) or "fault"; "ready" is said once, unasked. The kernel holds
the CPU limit: SIGPROF ends the process, in the middle of a multiplication too, and whether or not
its parent still lives.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

# Address space: a power tower is a MemoryError here before it is the host's.
_MEMORY_BYTES = 4 * 1024**3


def _operation(name: str) -> Callable[..., Any]:
    # Each imports what it needs, when it is first asked for.
    if name == "prime_math":
        from verifier.scoring.symbolic.prime import grade

        return grade
    if name == "mathruler":
        from verifier.scoring.symbolic.grader import MATHRULER, grade_answer

        return lambda answer, truth: grade_answer(answer, truth, MATHRULER)
    if name == "math_verify":
        from verifier.scoring.symbolic.verify import verify

        return verify
    raise ValueError(f"no operation {name!r}")


def _answer(line: bytes) -> tuple[str, Any]:
    try:
        operation, args, cpu_s = json.loads(line)
        work = _operation(operation)
        # Imports are not charged to the answer.
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        try:
            return "value", work(*args)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except ImportError as error:
        return "missing", error.name or str(error)
    except Exception as error:  # noqa: BLE001 - the caller decides; the worker goes on
        return "fault", f"{type(error).__name__}: {error}"[:500]


def main() -> None:
    """Serve until standard input closes."""
    out = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # what a package prints is no answer
    os.close(null)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    ceiling = math.inf if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_AS, (int(min(_MEMORY_BYTES, ceiling)), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    _say(out, "ready", None)
    for line in sys.stdin.buffer:
        _say(out, *_answer(line))


def _say(out: int, kind: str, value: Any) -> None:
    data = json.dumps([kind, value]).encode() + b"\n"
    while data:
        data = data[os.write(out, data) :]


if __name__ == "__main__":
    main()
