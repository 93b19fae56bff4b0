"""`verifier serve`: the gateway, until SIGTERM or Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verifier.cli.common import (
    AcceptOption,
    BackendOption,
    ExitCode,
    ImageOption,
    RuntimeOption,
    SlotsOption,
    TestlibOption,
    UnsafeOption,
    accepted,
    execute,
    fail,
)


def serve(
    grpc: Annotated[
        str | None,
        typer.Option(
            "--grpc",
            metavar="HOST:PORT",
            help="Address of the gRPC side, or unix:PATH. Default: 127.0.0.1:50051; port 0 takes "
            "a free one.",
            show_default=False,
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            help="Address of the HTTP side: health, /run_code (docs/http.md). Default: not served.",
            show_default=False,
        ),
    ] = None,
    backend: BackendOption = None,
    slots: SlotsOption = None,
    accept: AcceptOption = None,
    allow_unsafe: UnsafeOption = False,
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    testlib: TestlibOption = None,
    cache_dir: Annotated[
        str | None,
        typer.Option(
            "--cache-dir",
            metavar="DIR",
            help="Keeps compiled programs, uploaded suites and precompiled headers. Default: "
            "~/.cache/verifier; '' keeps nothing on disk.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="Settings in TOML; `verifier config show` lists them all.",
            show_default=False,
        ),
    ] = None,
    insecure_bind: Annotated[
        bool,
        typer.Option(
            "--insecure-bind",
            help="Allow addresses that other machines can reach, with no authentication.",
        ),
    ] = False,
) -> None:
    """Serve the gRPC gateway.

    Refuses to start where the host cannot give a guarantee, unless that guarantee is accepted by
    name. On SIGTERM or Ctrl-C new work is refused and running work finishes.
    """
    flags = {
        "grpc": grpc,
        "http": http,
        "backend": None if backend is None else backend.value,
        "slots": slots,
        "accept": ",".join(sorted(accepted(accept))) or None,
        "allow_unsafe": allow_unsafe or None,
        "image": image,
        "runtime": runtime,
        "testlib": None if testlib is None else str(testlib),
        "cache_dir": cache_dir,
        "insecure_bind": insecure_bind or None,
    }

    async def work() -> ExitCode:
        from verifier.config import default_cache_dir, load_settings

        settings = load_settings(config, flags).settings
        if settings.cache_dir is None:
            settings = settings.model_copy(update={"cache_dir": default_cache_dir()})
        try:
            from verifier.gateway import serve as serve_gateway
        except ModuleNotFoundError as error:
            fail(
                ExitCode.UNAVAILABLE,
                f"the gateway needs {error.name}, which is not installed",
                "pip install 'sandbox-verifier[server]'",
            )
        await serve_gateway(settings)
        return ExitCode.OK

    execute(work)
