"""Bodies of POST /run_code, up to the engine's task."""

from __future__ import annotations

import contextlib
import json

from verifier.gateway.http_fields import OURS, BadRequestError, parse, task_of

WORDS = b"code language python cpp stdin files fetch_files run_timeout memory_limit_MB null".split()


def target(data: bytes) -> None:
    with contextlib.suppress(BadRequestError):
        wanted = parse(data)
        if wanted.language in OURS:
            task = task_of(wanted)
            assert task.deadline_s is not None
            assert all(
                not name.startswith("/") and ".." not in name.split("/") for name, _ in task.files
            )


def seeds() -> list[bytes]:
    full = {
        "code": "print(1)",
        "language": "python",
        "stdin": "1\n",
        "compile_timeout": 5,
        "run_timeout": 2.5,
        "memory_limit_MB": 64,
        "files": {"a/b.txt": "aGVsbG8=", "skipped": None},
        "fetch_files": ["out.txt"],
    }
    bodies = [full, {"code": "", "language": "cpp"}, {"code": 1, "language": "R"}, [full], None]
    return [json.dumps(body).encode() for body in bodies]
