"""`verifier extract`: which part of a response is the program, and why."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from verifier.cli.common import ExitCode, JsonOption, execute, messages


def extract(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="A response as the model wrote it; - reads it.")
    ],
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Wanted language (any alias).", show_default=False),
    ] = None,
    entry_point: Annotated[
        str | None,
        typer.Option(
            "--entry-point",
            metavar="NAME",
            help="Prefer a block that defines this function.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME", help="Which of several fitting blocks.")
    ] = "last",
    as_json: JsonOption = False,
) -> None:
    """Show which block of a response is the program, and why.

    The program goes to standard output, the explanation to standard error. The exit code is 1 when
    the response holds no program.
    """

    async def work() -> ExitCode:
        from verifier import extraction

        found = extraction.extract(
            read_input(file), language=language, entry_point=entry_point, policy=policy
        )
        facts = found.extraction
        source = None if found.program is None else found.program.source
        if as_json:
            answer = {
                "found": source is not None,
                "language": facts.language,
                "block_index": facts.block_index,
                "block_count": facts.block_count,
                "reason": facts.reason,
                "reasoning_cut": facts.reasoning_cut,
                "source": None if source is None else source.decode("utf-8", "backslashreplace"),
            }
            typer.echo(json.dumps(answer, indent=2))
        else:
            err = messages()
            where = "no block" if facts.block_index is None else f"block {facts.block_index + 1}"
            err.print(f"language:  {facts.language or '-'}", markup=False)
            err.print(f"chosen:    {where} of {facts.block_count}", markup=False)
            err.print(f"reasoning: {facts.reasoning_cut} characters cut", markup=False)
            err.print(f"why:       {facts.reason}", markup=False)
            if source is not None:
                write_bytes(source if source.endswith(b"\n") else source + b"\n")
        return ExitCode.OK if source is not None else ExitCode.INCOMPLETE

    execute(work)


def read_input(name: str) -> bytes:
    """A file's bytes, or standard input's for "-".

    Raises:
        typer.BadParameter: The file cannot be read.
    """
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"cannot read {name}: {error.strerror}") from error


def write_bytes(data: bytes) -> None:
    """Bytes to standard output, whatever they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
