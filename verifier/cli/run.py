"""`verifier run`: one program, one standard input, no judging."""

from __future__ import annotations

import json
import sys
from pathlib import PurePath
from typing import Annotated

import typer

from verifier.cli.common import (
    AcceptOption,
    BackendOption,
    ExitCode,
    ImageOption,
    JsonOption,
    RuntimeOption,
    ServerOption,
    UnsafeOption,
    accepted,
    execute,
    fail,
    messages,
)
from verifier.cli.extract import read_input, write_bytes
from verifier.cli.scorers import open_engine
from verifier.errors import RequestError
from verifier.types import LimitOverrides, Program, RunOutcome, RunTask, Status

_MEBIBYTE = 1024 * 1024


def run(
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="The source file (no extraction is done).")
    ],
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            "-l",
            help="Its language (any alias). Default: by the file's suffix.",
            show_default=False,
        ),
    ] = None,
    stdin: Annotated[
        str | None,
        typer.Option(
            "--stdin",
            metavar="FILE|-",
            help="The program's standard input. Default: empty.",
            show_default=False,
        ),
    ] = None,
    cpu_time: Annotated[
        float | None,
        typer.Option("--cpu-time", metavar="SECONDS", help="CPU limit.", show_default=False),
    ] = None,
    wall_time: Annotated[
        float | None,
        typer.Option("--wall-time", metavar="SECONDS", help="Wall limit.", show_default=False),
    ] = None,
    memory_mb: Annotated[
        int | None,
        typer.Option("--memory-mb", metavar="MIB", help="Memory limit.", show_default=False),
    ] = None,
    server: ServerOption = None,
    backend: BackendOption = None,
    accept: AcceptOption = None,
    allow_unsafe: UnsafeOption = False,
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one program in the sandbox, as a scored one would run.

    Its output goes to standard output and standard error, then one line says what happened. The
    exit code is 0 when it exited with 0 within its limits, else 1.
    """
    if server is not None and (backend, accept, image, runtime) != (None, None, None, None):
        fail(ExitCode.USAGE, "--server brings its own sandbox: leave --backend and its options out")

    async def work() -> ExitCode:
        task = RunTask(
            program=Program(language or _language_of(program), read_input(program)),
            stdin=b"" if stdin is None else read_input(stdin),
            limits=LimitOverrides(
                cpu_time_s=cpu_time,
                wall_time_s=wall_time,
                memory_bytes=None if memory_mb is None else memory_mb * _MEBIBYTE,
            ),
            client_id="verifier-cli",
        )
        if server is not None:
            outcome = await _run_at(server, task)
        else:
            engine = await open_engine(
                None if backend is None else backend.value,
                slots=1,
                accept=accepted(accept),
                allow_unsafe=allow_unsafe,
                image=image,
                runtime=runtime,
            )
            try:
                outcome = await engine.run(task)
            finally:
                await engine.close()
        _show(outcome, as_json=as_json)
        return ExitCode.OK if outcome.status is Status.ACCEPTED else ExitCode.INCOMPLETE

    execute(work)


def _language_of(program: str) -> str:
    from verifier import languages

    suffix = PurePath(program).suffix.lstrip(".")
    found = languages.resolve(suffix) if suffix else None
    if found is None:
        raise RequestError("language", f"{program!r} has no suffix that says it: use --language")
    return found


async def _run_at(server: str, task: RunTask) -> RunOutcome:
    from verifier.client import AsyncClient

    program = task.program
    assert program is not None  # noqa: S101 - made above, for mypy
    client = AsyncClient(server, client_id=task.client_id)
    try:
        return await client.run(
            program.source, language=program.language, stdin=task.stdin, limits=task.limits
        )
    finally:
        await client.close()


def _show(outcome: RunOutcome, *, as_json: bool) -> None:
    facts = outcome.facts
    compiled = outcome.compile
    if as_json:
        answer = {
            "status": outcome.status.value,
            "message": outcome.message,
            "exit_code": facts.exit_code,
            "signal": facts.signal,
            "killer": facts.killer.value,
            "cpu_time_s": facts.cpu_time_s,
            "wall_time_s": facts.wall_time_s,
            "memory_bytes": facts.memory_bytes,
            "stdout": facts.stdout.decode("utf-8", "backslashreplace"),
            "stderr": facts.stderr.decode("utf-8", "backslashreplace"),
            "stdout_bytes": facts.stdout_bytes,
            "stderr_bytes": facts.stderr_bytes,
            "compile_ok": None if compiled is None else compiled.ok,
            "compile_message": "" if compiled is None else compiled.message,
            "runner": outcome.runner,
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    write_bytes(facts.stdout)
    sys.stderr.flush()
    sys.stderr.buffer.write(facts.stderr)
    sys.stderr.flush()
    err = messages()
    if compiled is not None and not compiled.ok and compiled.message:
        err.print(compiled.message, markup=False)
    how = f"signal {facts.signal}" if facts.signal else f"exit code {facts.exit_code}"
    style = "green" if outcome.status is Status.ACCEPTED else "red"
    err.print(outcome.status.value, style=f"bold {style}", end=": ")
    err.print(
        f"{how}, {facts.cpu_time_s * 1000:.0f} ms CPU, {facts.wall_time_s * 1000:.0f} ms wall, "
        f"{facts.memory_bytes / _MEBIBYTE:.1f} MB"
        + (f" ({' '.join(outcome.message.split())})" if outcome.message else ""),
        markup=False,
        soft_wrap=True,
    )
