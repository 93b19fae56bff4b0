"""`verifier top`: a gateway live in a terminal, from the numbers of its page."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier.cli.common import ExitCode, JsonOption, console, explain, fail
from verifier.errors import GatewayUnavailableError, VerifierError

if TYPE_CHECKING:
    from rich.console import RenderableType

_BARS = " ▁▂▃▄▅▆▇█"
_COLORS = {
    "ACCEPTED": "green",
    "WRONG_ANSWER": "yellow",
    "TIME_LIMIT": "magenta",
    "MEMORY_LIMIT": "blue",
    "OUTPUT_LIMIT": "cyan",
    "RUNTIME_ERROR": "red",
    "INFRA_ERROR": "bold red",
}


def top(
    http: Annotated[
        str,
        typer.Option("--http", metavar="HOST:PORT", help="The gateway's HTTP side, or its URL."),
    ] = "127.0.0.1:8080",
    interval: Annotated[
        float, typer.Option("--interval", min=0.2, help="Seconds between two looks.")
    ] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, print, leave.")] = False,
    json_: JsonOption = False,
) -> None:
    """Watch a gateway: throughput, verdicts, queue, slots, latency, clients.

    Ctrl-C leaves. With --once --json the numbers are printed as the gateway gives them
    (/status.json). A token is taken from VERIFIER_TOKEN or VERIFIER_TOKEN_FILE.
    """
    if json_ and not once:
        fail(ExitCode.USAGE, "--json needs --once", "verifier top --once --json")
    try:
        if once:
            status = _status(http)
            if json_:
                sys.stdout.write(json.dumps(status) + "\n")
            else:
                console().print(picture(status))
            return
        _watch(http, interval)
    except VerifierError as error:
        raise typer.Exit(explain(error)) from None
    except KeyboardInterrupt:
        return


def _watch(http: str, interval: float) -> None:
    from rich.live import Live

    status = _status(http)
    with Live(picture(status), console=console(), screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(interval)
            problem = ""
            try:
                status = _status(http)
            except GatewayUnavailableError as error:  # it may come back
                problem = str(error)
            live.update(picture(status, problem), refresh=True)


def _status(http: str) -> dict[str, Any]:
    from verifier.cli.http_side import ask

    code, body = ask(http, "/status.json")
    if code == 401:
        raise GatewayUnavailableError("it asks for a token: set VERIFIER_TOKEN")
    if not isinstance(body, dict) or "window" not in body:
        raise GatewayUnavailableError(f"{http} answers HTTP {code}, and is no gateway's HTTP side")
    return body


def picture(status: dict[str, Any], problem: str = "") -> RenderableType:
    """One screen of the numbers of `/status.json`."""
    from rich.columns import Columns
    from rich.console import Group
    from rich.text import Text

    load, window, totals = status["load"], status["window"], status["totals"]
    head = Text.assemble(
        ("verifier ", "bold"),
        (status["state"], "green" if status["state"] == "ready" else "yellow"),
        f"  {status['backend']}, version {status['version']}, up {_span(status)}",
    )
    latency = window["latency_ms"]
    history = status["history"]
    figures = [
        ("responses", f"{window['responses_per_s']:.1f}/s", _curve(history["responses"])),
        ("cases", f"{window['cases_per_s']:.1f}/s", _curve(history["cases"])),
        ("waiting", str(load["queued"]), _curve(history["queued"])),
        ("slots busy", f"{load['slots_busy']}/{load['slots_total']}", _curve(history["busy"])),
        *((name, _ms(latency[name]), "") for name in ("p50", "p90", "p99")),
    ]
    return Group(
        head,
        Text(problem, "bold red"),
        _grid(figures),
        Text(
            f"{load['held_requests']} of {load['max_requests']} requests held, "
            f"{load['held_bytes']} bytes; {load['slots_replaced']} slots replaced, "
            f"{load['slot_faults']} slot faults",
            "dim",
        ),
        Text(),
        Columns([_verdicts(window["verdicts"], totals["verdicts"]), _clients(status["clients"])]),
    )


def _grid(figures: list[tuple[str, str, str]]) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for name, value, curve in figures:
        grid.add_row(f"[dim]{name}[/]", f"[bold]{value}[/]", f"[cyan]{curve}[/]")
    return grid


def _verdicts(recent: dict[str, int], totals: dict[str, int]) -> RenderableType:
    from rich.table import Table

    table = Table("verdict", "share", "last minute", "total", box=None, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    everything = sum(recent.values())
    for name in sorted(totals, key=lambda name: -totals[name]):
        share = f"{100 * recent.get(name, 0) / everything:.1f} %" if everything else "-"
        table.add_row(
            name.lower().replace("_", " "),
            share,
            str(recent.get(name, 0)),
            str(totals[name]),
            style=_COLORS.get(name, ""),
        )
    return table


def _clients(clients: list[dict[str, Any]]) -> RenderableType:
    from rich.markup import escape
    from rich.table import Table

    table = Table("client", "/s", "responses", "accepted", "faults", box=None, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for client in clients[:12]:
        share = 100 * client["accepted"] / max(client["responses"], 1)
        table.add_row(
            escape(_plain(client["client"])) or "no name",
            f"{client['per_s']:.1f}",
            str(client["responses"]),
            f"{share:.1f} %",
            str(client["faults"]),
        )
    return table


def _plain(name: str) -> str:
    """A client's own words, without what a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in name)[:40]


def _curve(values: list[int], width: int = 40) -> str:
    """The last two minutes, each character the most of three seconds."""
    last = values[-3 * width :]
    columns = [max(last[i : i + 3]) for i in range(0, len(last), 3)]
    most = max(columns, default=0) or 1
    return "".join(_BARS[-(-value * (len(_BARS) - 1) // most)] for value in columns)


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def _span(status: dict[str, Any]) -> str:
    minutes = int(status["now"] - status["since"]) // 60
    return f"{minutes // 60} h {minutes % 60} min"
