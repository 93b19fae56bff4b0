"""`verifier config`: the settings with their values and sources, their schema, their page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from verifier.cli.common import ExitCode, JsonOption, console, execute

if TYPE_CHECKING:
    from verifier.config import SettingRow

config = typer.Typer(help="Look at the settings.", no_args_is_help=True)


@config.callback()
def _config() -> None:
    """Look at the settings."""


@config.command()
def show(
    file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="Settings in TOML. Default: VERIFIER_CONFIG.",
            show_default=False,
        ),
    ] = None,
    sources: Annotated[
        bool,
        typer.Option("--sources", help="Print what each value overrides, too."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print each setting, its value, and where it came from.

    Default, then file, then environment (VERIFIER_*), then flag: the later wins.
    """

    async def work() -> ExitCode:
        from verifier.config import load_settings

        rows = list(load_settings(file).rows())
        if as_json:
            typer.echo(json.dumps({row.name: _as_json(row, sources) for row in rows}, indent=2))
            return ExitCode.OK
        more = ("instead of",) if sources else ()
        table = Table("setting", "value", "from", *more, "what it is", box=None)
        for row in rows:
            others = "; ".join(f"{_text(value)} ({at})" for at, value in row.overridden)
            more = (others,) if sources else ()
            table.add_row(row.name, _text(row.value), row.source, *more, row.description)
        console().print(table)
        return ExitCode.OK

    execute(work)


@config.command()
def schema() -> None:
    """Print the JSON schema of a settings file."""

    async def work() -> ExitCode:
        from verifier.config import Settings

        made = Settings.model_json_schema()
        made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        made["title"] = "verifier.toml"
        typer.echo(json.dumps(made, indent=2))
        return ExitCode.OK

    execute(work)


@config.command()
def docs() -> None:
    """Print docs/configuration.md."""

    async def work() -> ExitCode:
        from verifier.cli.config_page import page

        typer.echo(page(), nl=False)
        return ExitCode.OK

    execute(work)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _as_json(row: SettingRow, sources: bool) -> dict[str, object]:
    shown: dict[str, object] = {"value": _plain(row.value), "source": row.source}
    if sources:
        shown["overridden"] = [{"value": _plain(v), "source": at} for at, v in row.overridden]
    return shown


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value
