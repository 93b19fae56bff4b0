"""`verifier languages`: those that are known, their page, and a try of each in the sandbox."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from verifier.cli.common import (
    AcceptOption,
    BackendOption,
    ExitCode,
    ImageOption,
    JsonOption,
    RuntimeOption,
    accepted,
    console,
    execute,
)

languages = typer.Typer(help="Languages: list them, try them.", no_args_is_help=True)


@languages.callback()
def _languages() -> None:
    """Languages: list them, try them."""


@languages.command(name="list")
def list_languages(as_json: JsonOption = False) -> None:
    """List the languages that are known, whether their toolchains are here or not."""
    from verifier.languages import RECIPES

    if as_json:
        rows = [
            {"name": r.name, "title": r.title, "aliases": r.aliases, "family": r.family}
            for r in RECIPES.values()
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "language", "image family", "other names", box=None)
    for recipe in RECIPES.values():
        table.add_row(recipe.name, recipe.title, recipe.family or "-", " ".join(recipe.aliases))
    console().print(table)


@languages.command()
def docs() -> None:
    """Print docs/languages.md."""
    from verifier.cli.languages_page import page

    typer.echo(page(), nl=False)


@languages.command()
def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LANGUAGE]...",
            help="These. Default: all whose toolchain is there.",
            show_default=False,
        ),
    ] = None,
    backend: BackendOption = None,
    accept: AcceptOption = None,
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run each language's self-test in the sandbox; 1 where one fails or has no toolchain."""
    execute(lambda: try_languages(names, backend, accept, image, runtime, as_json=as_json))


async def try_languages(
    names: list[str] | None,
    backend: BackendOption,
    accept: AcceptOption,
    image: ImageOption,
    runtime: RuntimeOption,
    *,
    as_json: bool,
) -> ExitCode:
    """Compile and run the self-tests, one after the other, and print what each did.

    Raises:
        RequestError: A language is unknown.
        BackendError: The sandbox cannot be opened.
    """
    from verifier.cli.scorers import open_engine
    from verifier.errors import BackendError
    from verifier.languages import RECIPES, get
    from verifier.languages.base import SELF_TEST_STDIN, SELF_TEST_STDOUT
    from verifier.types import Program, RunTask, Status

    asked = [get(name) for name in names or ()]
    engine = await open_engine(
        None if backend is None else backend.value,
        slots=1,
        accept=accepted(accept),
        allow_unsafe=False,
        image=image,
        runtime=runtime,
    )
    rows: list[dict[str, object]] = []
    try:
        there = engine.info().toolchains
        for recipe in asked or [RECIPES[name] for name in there if name in RECIPES]:
            row: dict[str, object] = {
                "language": recipe.name,
                "version": there.get(recipe.name, ""),
                "ok": False,
            }
            rows.append(row)
            try:
                outcome = await engine.run(
                    RunTask(Program(recipe.name, recipe.self_test.encode()), stdin=SELF_TEST_STDIN)
                )
            except BackendError as error:
                row["problem"] = str(error)
                continue
            said = outcome.facts.stdout
            row["ok"] = (
                outcome.status is Status.ACCEPTED and said.split() == SELF_TEST_STDOUT.split()
            )
            row["run_s"] = round(outcome.facts.wall_time_s, 3)
            if outcome.compile is not None:
                row["compile_s"] = round(outcome.compile.facts.wall_time_s, 3)
            if not row["ok"]:
                row["problem"] = outcome.message or f"{outcome.status.value}: {said[:80]!r}"
    finally:
        await engine.close()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        table = Table("language", "version", "", "compile s", "run s", "problem", box=None)
        for row in rows:
            mark = "[green]ok[/]" if row["ok"] else "[bold red]FAILED[/]"
            cells = [escape(str(row.get(key, ""))) for key in ("compile_s", "run_s", "problem")]
            table.add_row(str(row["language"]), escape(str(row["version"])), mark, *cells)
        console().print(table)
    return ExitCode.OK if all(row["ok"] for row in rows) else ExitCode.INCOMPLETE
