"""`verifier show`, `compare` and `replay`: looking at results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from verifier.cli.common import (
    AcceptOption,
    BackendOption,
    ExitCode,
    ImageOption,
    JsonOption,
    ResultsArgument,
    ServerOption,
    SlotsOption,
    accepted,
    console,
    execute,
    fail,
)

_IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Of the row.")]
_SHOWN_FLIPS = 20


def show(results: ResultsArgument, row_id: _IdArgument, as_json: JsonOption = False) -> None:
    """Print one result: its verdict, its cases, what the compiler said."""

    async def work() -> ExitCode:
        row = _find(results, row_id)
        if as_json:
            typer.echo(json.dumps(row))
        else:
            _print(row)
        return ExitCode.OK

    execute(work)


def compare(
    first: ResultsArgument,
    second: Annotated[
        Path, typer.Argument(metavar="OTHER", exists=True, dir_okay=False, help="Another one.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Compare the verdicts of two results files, row by row.

    Exit code 1 where a score differs.
    """

    async def work() -> ExitCode:
        from verifier.data.compare import compare as compare_rows
        from verifier.data.reading import read_results

        found = compare_rows(read_results(first), read_results(second))
        if as_json:
            changed = [[before, after, count] for (before, after), count in found.changed.items()]
            names = ("pairs", "better", "worse", "gained", "lost", "only_first", "only_second")
            numbers = ("unscored", "repeated", "difference", "low", "high", "chance")
            said: dict[str, Any] = {name: getattr(found, name) for name in (*names, *numbers)}
            flips = [[flip.id, flip.before, flip.after] for flip in found.flips]
            typer.echo(json.dumps({**said, "changed": changed, "flips": flips}))
        else:
            out = console()
            out.print(
                f"{found.pairs} rows in both: {found.better} better, {found.worse} worse; "
                f"{found.gained} pass in {second.name} alone, {found.lost} in {first.name} alone "
                f"(p = {found.chance:.3g})",
                markup=False,
            )
            out.print(
                f"mean score {found.difference:+.4f} (95 %: {found.low:+.4f} .. {found.high:+.4f})"
            )
            if found.only_first or found.only_second or found.unscored or found.repeated:
                out.print(
                    f"left out: {found.unscored} without a score, {found.only_first} in the first "
                    f"alone, {found.only_second} in the second alone, {found.repeated} repeated"
                )
            if found.changed:
                table = Table("before", "after", "rows", box=None)
                for (before, after), count in found.changed.most_common():
                    table.add_row(before, after, str(count))
                out.print(table)
            for flip in found.flips[:_SHOWN_FLIPS]:
                out.print(f"  {flip.id}: {flip.before} -> {flip.after}", markup=False)
            if len(found.flips) > _SHOWN_FLIPS:
                out.print(f"  ... {found.better + found.worse - _SHOWN_FLIPS} more: --json")
        return ExitCode.OK if not found.better + found.worse else ExitCode.INCOMPLETE

    execute(work)


def replay(
    results: ResultsArgument,
    row_id: _IdArgument,
    rows: Annotated[
        Path | None,
        typer.Option(
            "--rows", metavar="ROWS", help="Where the rows are by now.", show_default=False
        ),
    ] = None,
    server: ServerOption = None,
    backend: BackendOption = None,
    slots: SlotsOption = None,
    accept: AcceptOption = None,
    image: ImageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score one row of a results file again, with the same limits, and compare the verdicts.

    The rows are found by the configuration beside RESULTS. Exit code 0: the verdict held; 1: it is
    another one.
    """

    async def work() -> ExitCode:
        from verifier.cli.scorers import open_scorer
        from verifier.cli.scoring import DataSet
        from verifier.data import BadRow, result_to_dict

        before = _find(results, row_id)
        data = DataSet.of_config(_config(results), rows)
        data.check(Path("-"))
        row = next((row for row in data.read() if row.id == row_id), None)
        if row is None:
            fail(ExitCode.USAGE, f"{data.rows} has no row with the id {row_id!r}")
        if isinstance(row, BadRow):
            fail(ExitCode.USAGE, f"the row cannot be read: {row.reason}")
        scorer = await open_scorer(
            server,
            no_cache=True,
            backend=None if backend is None else backend.value,
            slots=slots or 1,
            accept=accepted(accept),
            image=image,
        )
        try:
            after = result_to_dict(await scorer.score(row), row)
        finally:
            await scorer.close()
        held = _verdicts(before) == _verdicts(after)
        if as_json:
            typer.echo(json.dumps({"held": held, "before": before, "after": after}))
        else:
            console().print("the verdict held" if held else "another verdict", style="bold")
            _print(after)
        return ExitCode.OK if held else ExitCode.INCOMPLETE

    execute(work)


def _find(results: Path, row_id: str) -> dict[str, Any]:
    from verifier.data.reading import read_results

    for row in read_results(results):
        if row["id"] == row_id:
            return row
    return fail(ExitCode.USAGE, f"{results} has no row with the id {row_id!r}")


def _config(results: Path) -> dict[str, Any]:
    path = results.with_name(results.name + ".config.json")
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        fail(ExitCode.USAGE, f"{path} is needed to find the rows again: {error}")
    return found


def _verdicts(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["outcome"], row["score"], [case["status"] for case in row["cases"]]


def _print(row: dict[str, Any]) -> None:
    out = console()
    verdict = row["status"] or row["outcome"]
    score = "no score" if row["score"] is None else f"score {row['score']:.4g}"
    out.print(
        f"{row['id']}: {verdict}, {score}, {row['passed']} of {row['total']} cases passed",
        markup=False,
    )
    if row["error"]:
        out.print(f"  {row['error']}", markup=False)
    found = row["extraction"]
    if found:
        out.print(f"  program: {found['language']}, {found['reason']}", markup=False)
    built = row["compile"]
    if built and built["message"]:
        out.print(f"  compiler: {built['message']}", markup=False)
    table = Table("case", "status", "CPU s", "MiB", "message", "standard output", box=None)
    for case in row["cases"]:
        table.add_row(
            str(case["index"]),
            case["status"],
            f"{case['cpu_time_s']:.3f}",
            f"{case['memory_bytes'] / 2**20:.1f}",
            _line(case["message"]),
            _line(case["stdout"]),
        )
    if row["cases"]:
        out.print(table)


def _line(text: str) -> str:
    """On one line, and nothing that a terminal would obey."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:120])
    return shown.replace("[", r"\[") + ("..." if len(text) > 120 else "")
