"""docs/configuration.md, made of the settings: each is described in `verifier.config` alone."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import typer

from verifier.config import LimitSettings, Settings, load_settings, reloads

__all__ = ["page"]

_HEAD = """\
# Configuration

<!-- Made by `verifier config docs`; change verifier/config.py instead. -->

Each setting has a default. A file (`--config FILE`, or `VERIFIER_CONFIG`), then the environment,
then a flag of `verifier serve` override it:

```toml
# verifier.toml
grpc = "127.0.0.1:50051"
slots = 8

[max_limits]
cpu_time_s = 60.0
```

```sh
VERIFIER_SLOTS=8 VERIFIER_MAX_LIMITS__CPU_TIME_S=60 verifier serve --config verifier.toml
```

`verifier config show --sources` prints each value, where it comes from and what it overrides;
`verifier config schema` is the JSON schema of the file, for editors. An unknown key is an error
that names the nearest known one. A setting that reloads is taken over at `SIGHUP` without a
restart, from the same file, environment and flags; [service.md](service.md) says how.
"""
_LIMITS = """\
## Limits

`default_limits` hold where neither the request nor its data says more, `max_limits` are the
ceilings: a request or a suite that asks for more is refused. In a file they are tables; in the
environment `VERIFIER_DEFAULT_LIMITS__NAME` and `VERIFIER_MAX_LIMITS__NAME`. Both reload.
"""
_CLIENT = """\
## The client's environment

Not settings of the gateway, and never in its file:

| variable | what it is |
|---|---|
| `VERIFIER_SERVER` | the gateway's address |
| `VERIFIER_TOKEN`, `VERIFIER_TOKEN_FILE` | the bearer token, or its file, read at each call |
| `VERIFIER_CA_FILE` | certificates that sign the gateway's, or `system`; set: TLS |
| `VERIFIER_CLIENT_CERT`, `VERIFIER_CLIENT_KEY` | the client's own, for mutual TLS |
| `VERIFIER_SERVER_NAME` | the name in the gateway's certificate, where it is not the address' |
| `VERIFIER_INSECURE_TOKEN` | `1`: send the token without TLS to another machine |
"""
_MIB = 1024 * 1024


def page() -> str:
    """The whole page, the same on every machine."""
    sections = (_HEAD, "\n".join(_settings()), _LIMITS + "\n" + "\n".join(_limits()), _CLIENT)
    return "\n".join(f"{section.rstrip()}\n" for section in sections)


def _settings() -> Iterator[str]:
    flags = _flags()
    yield "## Settings"
    yield ""
    yield "The environment's name is the setting's in capitals after `VERIFIER_`."
    yield ""
    yield "| setting | type | default | flag | reloads | what it is |"
    yield "|---|---|---|---|---|---|"
    for row in load_settings(env={}).rows():
        if "." in row.name:
            continue
        info = Settings.model_fields[row.name]
        cells = (
            f"`{row.name}`",
            _type(info.annotation),
            _default(row.name, row.value),
            f"`{flags[row.name]}`" if row.name in flags else "",
            "yes" if reloads(row.name) else "",
            row.description,
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _limits() -> Iterator[str]:
    values = {row.name: row.value for row in load_settings(env={}).rows()}
    yield "| limit | type | default | ceiling | what it is |"
    yield "|---|---|---|---|---|"
    for name, info in LimitSettings.model_fields.items():
        default, ceiling = (values[f"{table}.{name}"] for table in ("default_limits", "max_limits"))
        what = info.description
        yield (
            f"| `{name}` | {_type(info.annotation)} | {_default(name, default)} "
            f"| {_default(name, ceiling)} | {what} |"
        )


def _flags() -> dict[str, str]:
    """Setting -> flag of `verifier serve`."""
    from verifier.cli.app import app

    command: Any = typer.main.get_command(app)
    return {param.name: param.opts[0] for param in command.commands["serve"].params}


def _type(annotation: Any) -> str:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _type(typing.get_args(annotation)[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(annotation))
    if origin is tuple:
        return "list of strings"
    if origin in (types.UnionType, typing.Union):
        return _type(next(kind for kind in typing.get_args(annotation) if kind is not type(None)))
    names = {str: "string", int: "integer", float: "number", bool: "boolean", Path: "path"}
    return names[annotation]


def _default(name: str, value: object) -> str:
    if value is None or value == ():
        return "unset" if value is None else "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if name.endswith("bytes") and isinstance(value, int) and value and value % _MIB == 0:
        return f"`{value}` ({value // _MIB} MiB)"
    return f"`{value}`"
