"""What the commands share: options, exit codes, and how an error becomes a message and a code.

The rule for errors: one red line that says what is wrong, then the next command to type.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable
from enum import Enum, IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from verifier.errors import (
    AuthenticationError,
    BackendError,
    ConfigError,
    DataError,
    GatewayUnavailableError,
    GuaranteeError,
    RequestError,
    SuiteError,
    VerifierError,
)

if TYPE_CHECKING:
    from verifier.config import Settings


class ExitCode(IntEnum):
    """Exit codes of every command (docs/cli.md)."""

    OK = 0
    INCOMPLETE = 1
    USAGE = 2
    UNAVAILABLE = 3
    INTERRUPTED = 130


class Backend(str, Enum):
    """Backends that can be asked for."""

    NAMESPACES = "namespaces"
    DOCKER = "docker"
    RUNNERS = "runners"
    PROCESS = "process"
    FAKE = "fake"


BackendOption = Annotated[
    Backend | None,
    typer.Option(
        "--backend",
        help="Where programs run: namespaces (embedded, the default), docker, runners (containers "
        "that somebody else starts, see VERIFIER_RUNNERS_DIR), or process "
        "(limits only, unsafe).",
        show_default=False,
    ),
]
SlotsOption = Annotated[
    int | None,
    typer.Option(
        "--slots",
        min=1,
        help="Programs that run at once. Default: one for each CPU.",
        show_default=False,
    ),
]
AcceptOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        metavar="NAME",
        help="Accept that this guarantee is missing on this host; repeat it, or separate names "
        "by commas. `verifier doctor` lists them.",
        show_default=False,
    ),
]
UnsafeOption = Annotated[
    bool,
    typer.Option(
        "--allow-unsafe",
        help="Allow the process backend: programs run as you, with limits and nothing else.",
    ),
]
ImageOption = Annotated[
    str | None,
    typer.Option(
        "--image",
        metavar="TAG",
        help="The docker backend's image. Default: verifier-sandbox:latest.",
        show_default=False,
    ),
]
RuntimeOption = Annotated[
    str | None,
    typer.Option(
        "--runtime",
        metavar="NAME",
        help="The docker backend's OCI runtime: runc, crun, runsc, or what else the engine has. "
        "Default: the engine's own.",
        show_default=False,
    ),
]
TestlibOption = Annotated[
    Path | None,
    typer.Option(
        "--testlib",
        metavar="FILE",
        dir_okay=False,
        help="Your testlib.h, for checkers and interactors in C++ that do not bring their own.",
        show_default=False,
    ),
]


def _address(value: str | None) -> str | None:
    """GRPC takes a name without a port for port 443, and then says that it cannot be resolved."""
    for part in (value or "").split(","):
        if value is not None and ":" not in part:
            raise typer.BadParameter(f"{part!r} is neither HOST:PORT nor unix:PATH")
    return value


ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="HOST:PORT",
        envvar="VERIFIER_SERVER",
        help="Use this gateway (or unix:PATH; several, with commas) rather than a sandbox of ours.",
        show_default=False,
        callback=_address,
    ),
]
ResponsesOption = Annotated[
    Path | None,
    typer.Option(
        "--responses",
        metavar="FILE",
        help="The responses are in this file: joined to the rows by id.",
        show_default=False,
    ),
]
InOrderOption = Annotated[
    bool,
    typer.Option(
        "--in-order",
        help="Join --responses by order instead: the first to the first row, and so on.",
    ),
]
AdapterOption = Annotated[
    str | None,
    typer.Option(
        "--adapter",
        metavar="PKG.MODULE:FN",
        help="A function of yours (or FILE.py:FN): an object in; a row, a list of them, or "
        "None out.",
        show_default=False,
    ),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, help="At most so many rows.", show_default=False)
]
ResultsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS",
        exists=True,
        dir_okay=False,
        help="What `verifier score` wrote: JSON Lines, or Parquet.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


def accepted(names: list[str] | None) -> frozenset[str]:
    """The names given to --accept, repeated or separated by commas."""
    parts = (part.strip() for name in names or () for part in name.split(","))
    return frozenset(part for part in parts if part)


def sandbox_settings(
    backend: Backend | None = None,
    *,
    accept: frozenset[str] = frozenset(),
    image: str | None = None,
    runtime: str | None = None,
) -> Settings:
    """The settings of a sandbox that is looked at: what no flag says is as `serve` would have it.

    Raises:
        ConfigError: A setting is wrong.
    """
    from verifier.config import load_settings

    flags = {
        "backend": None if backend is None else backend.value,
        "accept": ",".join(sorted(accept)) or None,
        "image": image,
        "runtime": runtime,
    }
    return load_settings(flags=flags).settings


def console() -> Console:
    """Standard output. Made on demand: tests and pipes replace the stream."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def only_server(server: str | None, sandbox: Iterable[object], instead: str) -> None:
    """End with a usage error where both a gateway and options of a sandbox of ours are given."""
    if server is not None and any(option is not None for option in sandbox):
        fail(
            ExitCode.USAGE,
            "--server brings its own sandbox: --backend, --slots, --accept, --image, --runtime and "
            "--testlib are for one of ours",
            instead,
        )


def messages() -> Console:
    """Standard error, for everything that is not the answer."""
    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def show_error(problem: str, *next_steps: str) -> None:
    """One line that says what is wrong, then what to type."""
    err = messages()
    err.print("error:", style="bold red", end=" ")
    err.print(problem, markup=False)
    for step in next_steps:
        err.print(f"  {step}", markup=False, style="cyan")


def fail(code: ExitCode, problem: str, *next_steps: str) -> NoReturn:
    """Say what is wrong and leave."""
    show_error(problem, *next_steps)
    raise typer.Exit(code)


def explain(error: VerifierError) -> ExitCode:
    """Print an error with the next command to type; its exit code."""
    if isinstance(error, GuaranteeError):
        steps = ["verifier doctor    (says what is missing here, and what to do about it)"]
        if error.missing and "--accept" not in str(error):
            steps.append(f"or go on without: --accept {','.join(error.missing)}")
        show_error(str(error), *steps)
        return ExitCode.UNAVAILABLE
    if isinstance(error, AuthenticationError):
        show_error(str(error), "set the token: VERIFIER_TOKEN, or VERIFIER_TOKEN_FILE")
        return ExitCode.UNAVAILABLE
    if isinstance(error, GatewayUnavailableError):
        show_error(str(error), "start one: verifier serve --grpc HOST:PORT")
        return ExitCode.UNAVAILABLE
    if isinstance(error, BackendError):
        show_error(str(error), "verifier doctor    (says what this host lacks)")
        return ExitCode.UNAVAILABLE
    show_error(str(error))
    if isinstance(error, (ConfigError, DataError, RequestError, SuiteError)):
        return ExitCode.USAGE
    return ExitCode.UNAVAILABLE


def execute(work: Callable[[], Coroutine[Any, Any, ExitCode]]) -> NoReturn:
    """Run a command's coroutine to its exit code.

    Ctrl-C and SIGTERM cancel it, so that every `finally` frees its sandbox before the process ends.
    """
    try:
        code = asyncio.run(_cancelled_by_sigterm(work))
    except (KeyboardInterrupt, asyncio.CancelledError):
        show_error("interrupted")
        code = ExitCode.INTERRUPTED
    except VerifierError as error:
        code = explain(error)
    raise typer.Exit(code)


async def _cancelled_by_sigterm(work: Callable[[], Coroutine[Any, Any, ExitCode]]) -> ExitCode:
    task = asyncio.current_task()
    if task is not None:
        # Not the main thread (a test's runner, an embedding program): signals are not ours.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work()
