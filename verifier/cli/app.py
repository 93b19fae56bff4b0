"""The commands, put together. Only typer and rich are imported here: `--help` must be quick."""

from __future__ import annotations

import typer

from verifier._version import __version__
from verifier.cli.config import config
from verifier.cli.doctor import doctor
from verifier.cli.doctor_data import doctor_data
from verifier.cli.extract import extract
from verifier.cli.healthcheck import healthcheck
from verifier.cli.images import images
from verifier.cli.languages import languages
from verifier.cli.report import report
from verifier.cli.results import compare, replay, show
from verifier.cli.run import run
from verifier.cli.score import score
from verifier.cli.selfcheck import selfcheck
from verifier.cli.serve import serve
from verifier.cli.stress import stress
from verifier.cli.top import top

_EPILOG = """
**Exit codes**: 0 done; 1 done, but some rows (or the program) did not pass through; 2 wrong usage;
3 the sandbox or the gateway is not available, or a guarantee is missing; 130 interrupted.
"""

app = typer.Typer(
    name="verifier",
    help="Scores model-written code: runs it in a sandbox, judges what it printed, says how much "
    "of the test suite it passed.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_show_locals=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"verifier {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    del version  # its callback has printed it


def _epilog(*lines: str) -> str:
    """Examples below the options, one a line."""
    return "**Examples**\n\n" + "\n\n".join(f"`{line}`" for line in lines)


app.command(
    epilog=_epilog(
        "verifier serve",
        "verifier serve --grpc 127.0.0.1:50051 --http 127.0.0.1:8080 --slots 8",
        "verifier serve --backend docker",
        "verifier serve --accept memory_limit",
    )
)(serve)
app.command(
    epilog=_epilog(
        "verifier score rows.jsonl -o results.jsonl",
        "verifier score rows.jsonl -o results.jsonl --backend docker --slots 4",
        "verifier score rows.jsonl -o results.jsonl --server 127.0.0.1:50051",
        "verifier score rows.jsonl -o results.jsonl --engine ray --ray-address 10.0.0.1:6379",
        "verifier score rows.jsonl -o - | jq .status",
    )
)(score)
app.command(
    epilog=_epilog(
        "verifier run solution.py --stdin input.txt",
        "echo 1 2 | verifier run solution.cpp --stdin -",
        "verifier run a.txt --language python --cpu-time 2 --memory-mb 256 --json",
    )
)(run)
app.command(
    epilog=_epilog(
        "verifier extract response.md",
        "verifier extract response.md > solution.py",
        "verifier extract - --json < response.md",
    )
)(extract)
_doctor = typer.Typer(
    epilog=_epilog(
        "verifier doctor",
        "verifier doctor --backend docker",
        "verifier doctor --json",
        "verifier doctor data train.parquet",
    ),
    invoke_without_command=True,
    callback=doctor,
    rich_markup_mode="markdown",
)
_doctor.command(
    "data",
    epilog=_epilog(
        "verifier doctor data train.parquet",
        "verifier doctor data train.parquet --clean clean.parquet",
        "verifier doctor data rows.jsonl --no-run --json",
    ),
)(doctor_data)
app.add_typer(_doctor, name="doctor")
app.command(
    epilog=_epilog(
        "verifier selfcheck",
        "verifier selfcheck --backend docker --backend namespaces",
        "verifier selfcheck --only kernel,files",
        "verifier selfcheck --accept memory_limit,cpu_accounting",
    )
)(selfcheck)
app.command(
    epilog=_epilog(
        "verifier stress --seconds 60",
        "verifier stress --backend docker --count 5000 --hostile-share 0.2",
    )
)(stress)
app.command(
    epilog=_epilog(
        "verifier healthcheck",
        "verifier healthcheck --server unix:/run/verifier/grpc.sock",
        "verifier healthcheck --http 127.0.0.1:8080 --json",
    )
)(healthcheck)
app.command(
    epilog=_epilog(
        "verifier top --http 127.0.0.1:8080",
        "verifier top --once --json | jq .window",
    )
)(top)
app.command(epilog=_epilog("verifier show results.jsonl p1/0"))(show)
app.command(
    epilog=_epilog(
        "verifier report results.jsonl -o report.html",
        "verifier report results.jsonl -o report.html --data rows.jsonl",
    )
)(report)
app.command(epilog=_epilog("verifier compare before.jsonl after.jsonl"))(compare)
app.command(epilog=_epilog("verifier replay results.jsonl p1/0 --backend docker"))(replay)
app.add_typer(config, name="config")
app.add_typer(images, name="images")
app.add_typer(languages, name="languages")
