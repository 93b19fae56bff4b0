"""`verifier healthcheck`: does a gateway take work? For probes of containers, and for scripts."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import typer

from verifier.cli.common import ExitCode, JsonOption, ServerOption, console, execute, fail

_DEFAULT = "127.0.0.1:50051"


def healthcheck(
    server: ServerOption = None,
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            help="Ask the HTTP side's /readyz, or a URL of it (https://HOST:PORT).",
            show_default=False,
        ),
    ] = None,
    service: Annotated[
        str,
        typer.Option(
            "--service",
            metavar="NAME",
            help="The gRPC service to ask about. Default: the server as a whole.",
            show_default=False,
        ),
    ] = "",
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds it has to answer.")
    ] = 5.0,
    json_: JsonOption = False,
) -> None:
    """Ask a gateway whether it takes work.

    By gRPC's health protocol, or over HTTP. Exit code 0: it does; 1: it answers and takes none
    (it is starting, draining, or its backend is down); 3: nobody answers.
    """
    if server is not None and http is not None:
        fail(ExitCode.USAGE, "one of --server and --http, not both")

    async def work() -> ExitCode:
        if http is not None:
            from verifier.cli.http_side import ask

            status, body = await asyncio.to_thread(ask, http, "/readyz", timeout)
            ready, state = status == 200, f"HTTP {status}"
            where: dict[str, Any] = {"http": http, "answer": body}
        else:
            from verifier.client.health import serving

            target = server or _DEFAULT
            state = await serving(target, service, timeout)
            ready, where = state == "SERVING", {"server": target, "service": service}
        if json_:
            console().print_json(json.dumps({"ready": ready, "state": state, **where}))
        else:
            console().print(f"{'ready' if ready else 'not ready'} ({state})", markup=False)
        return ExitCode.OK if ready else ExitCode.INCOMPLETE

    execute(work)
