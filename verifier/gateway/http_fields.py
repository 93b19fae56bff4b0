"""What `POST /run_code` takes: Sandbox Fusion's fields, their types, defaults and 422s.

The model converts as Sandbox Fusion's own does (both are pydantic's), so that what is a number
there is one here. What it does not check (names of files, base64, limits) is checked behind it.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from verifier._text import to_utf8
from verifier.engine.carried import check_names
from verifier.errors import RequestError
from verifier.languages import MODES, of_sandbox_fusion
from verifier.types import LimitOverrides, Program, RunTask

__all__ = [
    "NOT_RUN",
    "OURS",
    "BadRequestError",
    "RunCode",
    "languages_of_sandbox_fusion",
    "parse",
    "task_of",
]

Language = Literal[
    "python", "cpp", "nodejs", "go", "go_test", "java", "php", "csharp", "bash", "typescript",
    "sql", "rust", "cuda", "lua", "R", "perl", "D_ut", "ruby", "scala", "julia", "pytest", "junit",
    "kotlin_script", "jest", "verilog", "python_gpu", "lean", "swift", "racket",
]  # fmt: skip

# Sandbox Fusion's name -> ours, for the languages and test frameworks that are built here.
OURS = of_sandbox_fusion() | {
    name: mode.recipe.name for mode in MODES.values() for name in mode.recipe.sandbox_fusion
}

# What else is not run here, and why. It is none of an image's languages.
NOT_RUN = {
    "python_gpu": "programs get no GPU here, and there a project of `files` is run, not `code`; "
    "send a program for the CPU with language=python",
}

# Their clients wait for both time limits and this much; then they give up without another try.
_PATIENCE_S = 10.0
# So the answer that makes them try again is on its way before.
_ANSWER_S = 1.0

_FILES_BYTES = 64 * 1024 * 1024
# Sandbox Fusion leaves out files with this in their name.
_IGNORED = "IGNORE_THIS_FILE"

# Our name of a limit -> the field that sets it.
_LIMIT_FIELDS = {
    "limits.cpu_time_s": "run_timeout",
    "limits.wall_time_s": "run_timeout",
    "limits.memory_bytes": "memory_limit_MB",
    "fetch": "fetch_files",
}


class RunCode(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    compile_timeout: float = 10
    run_timeout: float = 10
    memory_limit_MB: int = -1  # noqa: N815 - the protocol's name
    code: str
    stdin: str | None = None
    language: Language
    files: dict[str, str | None] = {}
    fetch_files: list[str] = []


class BadRequestError(Exception):
    """A request that is answered with 422.

    Attributes:
        detail: As FastAPI writes it.
    """

    def __init__(self, detail: list[dict[str, Any]]) -> None:
        """Keep what is wrong."""
        super().__init__(str(detail)[:200])
        self.detail = detail

    @classmethod
    def of(cls, field: str, problem: str, kind: str = "value_error") -> BadRequestError:
        """One thing that is wrong with one field; "" is the body."""
        return cls([{"type": kind, "loc": ["body", field] if field else ["body"], "msg": problem}])

    @classmethod
    def of_error(cls, error: RequestError) -> BadRequestError:
        """The same, from an error of ours."""
        return cls.of(_LIMIT_FIELDS.get(error.field, error.field), error.problem)


def languages_of_sandbox_fusion() -> tuple[str, ...]:
    """The names that are no 422."""
    return tuple(Language.__args__)  # type: ignore[attr-defined]


def parse(body: bytes) -> RunCode:
    """Read a body.

    Raises:
        BadRequestError: It is not JSON, or a field is wrong.
    """
    try:
        data = json.loads(body)
    except RecursionError:
        raise BadRequestError.of("", "JSON decode error: too deep", "json_invalid") from None
    except ValueError as error:  # not JSON, not UTF-8, a number of too many digits
        raise BadRequestError.of("", f"JSON decode error: {error}"[:200], "json_invalid") from None
    try:
        return RunCode.model_validate(data)
    except ValidationError as error:
        raise BadRequestError(
            [
                {"type": item["type"], "loc": ["body", *item["loc"]], "msg": item["msg"]}
                for item in error.errors(include_url=False, include_context=False)
            ]
        ) from None


def task_of(request: RunCode) -> RunTask:
    """What the engine is asked; the language has to be one of `OURS`.

    Raises:
        BadRequestError: A time limit, a name of a file, or base64 is wrong.
    """
    for name in ("compile_timeout", "run_timeout"):
        value = getattr(request, name)
        if not (math.isfinite(value) and value > 0):
            raise BadRequestError.of(name, "must be a positive number")
    memory = request.memory_limit_MB * 1024 * 1024 if request.memory_limit_MB > 0 else None
    files = _files(request)
    _check("files", [name for name, _ in files], laid=True)
    _check("fetch_files", request.fetch_files, laid=False)
    return RunTask(
        program=Program(OURS[request.language], to_utf8(request.code)),
        stdin=to_utf8(request.stdin or ""),
        # Their limit is of wall-clock time. Here CPU time decides, and the wall limit follows.
        limits=LimitOverrides(cpu_time_s=float(request.run_timeout), memory_bytes=memory),
        deadline_s=request.compile_timeout + request.run_timeout + _PATIENCE_S - _ANSWER_S,
        files=files,
        fetch=tuple(dict.fromkeys(request.fetch_files)),
    )


def _files(request: RunCode) -> tuple[tuple[str, bytes], ...]:
    files, room = [], _FILES_BYTES
    for name, content in request.files.items():
        if content is None or _IGNORED in name:
            continue
        try:
            data = base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError):
            raise BadRequestError.of("files", f"{name[:80]!r} is not base64") from None
        room -= len(data)
        if room < 0:
            raise BadRequestError.of("files", f"over {_FILES_BYTES} bytes together")
        files.append((name, data))
    return tuple(files)


def _check(field: str, names: list[str], *, laid: bool) -> None:
    try:
        check_names(field, names, laid=laid)
    except RequestError as error:
        raise BadRequestError.of(field, error.problem) from None
