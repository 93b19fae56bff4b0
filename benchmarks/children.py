"""What a child process used."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def cpu_s(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> float:
    """CPU seconds of a command, all its threads and the children it waited for.

    Args:
        argv: The command; what it prints is dropped.
        stdin: What it reads.
        cwd: Where it runs.
        env: In addition to ours.

    Raises:
        RuntimeError: It failed.
    """
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        with subprocess.Popen(
            argv,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(argv)[:300]}")
    return used.ru_utime + used.ru_stime
