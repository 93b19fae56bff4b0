"""`verifier report`: results as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from verifier.cli.common import ExitCode, ResultsArgument, execute, fail, messages
from verifier.errors import DataError

# Of the configuration beside the results, what the page names.
_FACTS = ("version", "backend", "server", "repeat", "rows")


def report(
    results: ResultsArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.html", help="The page.", dir_okay=False)
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="ROWS",
            help="The rows that were scored (or the word human-eval): failures are shown with "
            "input, expected output and program too.",
            show_default=False,
        ),
    ] = None,
    failures: Annotated[
        int,
        typer.Option(
            "--failures", min=0, help="Failures of each verdict that are shown with their outputs."
        ),
    ] = 200,
    title: Annotated[
        str | None, typer.Option("--title", help="Default: the file's name.", show_default=False)
    ] = None,
) -> None:
    """Write one HTML file that shows the results: figures, charts, each row, failures in full."""

    async def work() -> ExitCode:
        from verifier.data.joined import HUMAN_EVAL
        from verifier.data.reading import read_results
        from verifier.report import add_samples, collect, report_page, write_page

        if data is not None and not data.exists() and str(data) != HUMAN_EVAL:
            fail(ExitCode.USAGE, f"{data} does not exist")
        for path in (results, data):
            if path and path.exists() and output.exists() and output.samefile(path):
                fail(ExitCode.USAGE, f"{path} would be overwritten by the page: name another")
        notes: list[str] = []
        found = collect(read_results(results, notes), max_failures=failures)
        if not found.rows:
            raise DataError(f"{results} is empty: there is nothing to report")
        found.notes[:0] = notes
        config = _config(results)
        if data is not None:
            add_samples(found, _data_set(config, data).read())
        facts = {"results": results.name}
        for name in _FACTS:
            if config.get(name) not in (None, ""):
                facts[name] = str(config[name])
        page = report_page(found, title=title or results.name, facts=facts)
        write_page(page, output)
        messages().print(f"{output}: {found.rows} rows, {len(page) / 2**20:.1f} MiB", markup=False)
        return ExitCode.OK

    execute(work)


def _config(results: Path) -> dict[str, Any]:
    """What stands beside the results; {} where nothing does: the page does without."""
    try:
        found = json.loads(results.with_name(results.name + ".config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _data_set(config: dict[str, Any], data: Path) -> Any:
    from verifier.cli.scoring import DataSet
    from verifier.data import Selection

    if "source" in config:
        return DataSet.of_config(config, data)
    return DataSet(data, None, in_order=False, columns=(), adapter=None, selection=Selection())
