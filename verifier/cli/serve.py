"""`verifier serve`: the gateway, until SIGTERM or Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from verifier.config import Settings


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
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            "--tls-cert",
            metavar="FILE",
            help="Certificate (and chain) of both ports, PEM; read again when it is renewed.",
            show_default=False,
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option("--tls-key", metavar="FILE", help="Its private key.", show_default=False),
    ] = None,
    tls_client_ca: Annotated[
        Path | None,
        typer.Option(
            "--tls-client-ca",
            metavar="FILE",
            help="Certificates that sign clients: who shows none is turned away (mutual TLS).",
            show_default=False,
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            "--tokens",
            metavar="FILE",
            help="Bearer tokens, a name and a token a line (docs/service.md); read again when it "
            "changes.",
            show_default=False,
        ),
    ] = None,
    grace_s: Annotated[
        float | None,
        typer.Option(
            "--grace",
            metavar="SECONDS",
            min=0,
            help="What running work gets at SIGTERM. Default: 30.",
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
            help="Allow addresses that other machines can reach with neither TLS nor tokens.",
        ),
    ] = False,
) -> None:
    """Serve the gRPC gateway.

    Refuses to start where the host cannot give a guarantee, unless that guarantee is accepted by
    name. On SIGTERM or Ctrl-C new work is refused and running work finishes; a second one stops
    now. On SIGHUP the settings are read again (docs/service.md).
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
        "testlib": _text(testlib),
        "cache_dir": cache_dir,
        "tls_cert": _text(tls_cert),
        "tls_key": _text(tls_key),
        "tls_client_ca": _text(tls_client_ca),
        "tokens": _text(tokens),
        "grace_s": grace_s,
        "insecure_bind": insecure_bind or None,
    }

    async def work() -> ExitCode:
        from verifier.config import default_cache_dir, load_settings

        def read() -> Settings:
            settings = load_settings(config, flags).settings
            if settings.cache_dir is None:
                settings = settings.model_copy(update={"cache_dir": default_cache_dir()})
            return settings

        settings = read()
        try:
            from verifier.gateway import serve as serve_gateway
            from verifier.telemetry.logs import configure
        except ModuleNotFoundError as error:
            fail(
                ExitCode.UNAVAILABLE,
                f"the gateway needs {error.name}, which is not installed",
                "pip install 'sandbox-verifier[server]'",
            )
        if settings.tracing:
            from verifier.telemetry.tracing import export_spans

            export_spans()
        with configure(settings.log_format, settings.log_level):
            await serve_gateway(settings, reread=read)
        return ExitCode.OK

    execute(work)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
