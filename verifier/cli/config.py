"""`verifier config show`: each setting with its value and where that came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from verifier.cli.common import ExitCode, JsonOption, console, execute

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
    as_json: JsonOption = False,
) -> None:
    """Print each setting, its value, and where it came from.

    Default, then file, then environment (VERIFIER_*), then flag: the later wins.
    """

    async def work() -> ExitCode:
        from verifier.config import load_settings

        rows = list(load_settings(file).rows())
        if as_json:
            values = {row.name: {"value": row.value, "source": row.source} for row in rows}
            typer.echo(json.dumps(values, indent=2))
            return ExitCode.OK
        table = Table("setting", "value", "from", "what it is", box=None)
        for row in rows:
            value = "" if row.value is None else str(row.value)
            table.add_row(row.name, value, row.source, row.description)
        console().print(table)
        return ExitCode.OK

    execute(work)
