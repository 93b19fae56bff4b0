"""One settings object: defaults, then a TOML file, then the environment, then flags.

`load_settings` answers the settings together with where each value came from, so that
`verifier config show` can print it. An unknown key is an error that names the nearest known one: a
typing mistake never runs with a default in silence.

A file looks like this; the environment spells the same keys `VERIFIER_GRPC`,
`VERIFIER_MAX_LIMITS__CPU_TIME_S`:

    grpc = "127.0.0.1:50051"
    slots = 8

    [max_limits]
    cpu_time_s = 60.0

Pydantic stays in this module: everything below takes plain values and `verifier.types.Limits`.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from verifier._addresses import is_loopback, split_address
from verifier.errors import ConfigError
from verifier.limits import DEFAULT_LIMITS, MAX_LIMITS
from verifier.types import Limits

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - the interpreter decides
    import tomli as tomllib

__all__ = [
    "REDACTED",
    "RELOADS",
    "LimitSettings",
    "Loaded",
    "SettingRow",
    "Settings",
    "default_cache_dir",
    "is_loopback",
    "load_settings",
    "read_testlib",
    "reloads",
    "split_address",
]

_ENV_PREFIX = "VERIFIER_"
_MIB = 1024 * 1024

REDACTED = "redacted"
"""Marks a setting that names, or might by mistake hold, a secret: it is not shown as it is."""
RELOADS: dict[str, Any] = {"reloads": True}
"""Marks a setting that a running gateway takes over at SIGHUP; the others need a restart."""

# Names with our prefix that are not settings: switches of the test suite, the client's own address
# and credentials, the path of the file, and what Kubernetes injects into every pod beside a service
# named "verifier".
_NOT_SETTINGS = re.compile(
    r"VERIFIER_(REQUIRE_.*|TEST_.*|VERL_PYTHON|CASES|CONTROL_RUNS"
    r"|SERVER|CONFIG|SERVICE_.*|PORT|PORT_.*"
    r"|TOKEN|TOKEN_FILE|INSECURE_TOKEN|CA_FILE|CLIENT_CERT|CLIENT_KEY|SERVER_NAME)$"
)


class LimitSettings(BaseModel):
    """What one run of a program may use (see `verifier.types.Limits`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpu_time_s: float = Field(
        DEFAULT_LIMITS.cpu_time_s, description="CPU seconds, all processes together."
    )
    wall_time_s: float = Field(
        DEFAULT_LIMITS.wall_time_s,
        description="Wall-clock seconds; twice the CPU limit and one second when only that is set.",
    )
    memory_bytes: int = Field(
        DEFAULT_LIMITS.memory_bytes, description="Memory of the whole process tree."
    )
    output_bytes: int = Field(DEFAULT_LIMITS.output_bytes, description="Bytes per output stream.")
    processes: int = Field(DEFAULT_LIMITS.processes, description="Processes and threads at once.")
    file_bytes: int = Field(
        DEFAULT_LIMITS.file_bytes, description="Size of the run's home, and of any one file."
    )
    open_files: int = Field(DEFAULT_LIMITS.open_files, description="Descriptors per process.")

    @field_validator("*")
    @classmethod
    def _positive(cls, value: float) -> float:
        if not (value > 0 and math.isfinite(value)):
            raise ValueError("must be positive and finite")
        return value

    def to_limits(self) -> Limits:
        """The same as a plain value."""
        return Limits(**self.model_dump())


def _limit_settings(limits: Limits) -> LimitSettings:
    return LimitSettings(**{name: getattr(limits, name) for name in LimitSettings.model_fields})


class Settings(BaseSettings):
    """Everything an operator can set. `load_settings` fills it; `Settings()` is all defaults."""

    model_config = SettingsConfigDict(
        env_prefix=_ENV_PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        validate_default=False,
    )

    backend: Literal["namespaces", "docker", "runners", "process", "fake"] = Field(
        "namespaces", description="Which sandbox runs the programs."
    )
    grpc: str = Field(
        "127.0.0.1:50051",
        description="HOST:PORT or unix:PATH of the gRPC side; port 0 picks a free one.",
    )
    http: str | None = Field(
        None,
        description="HOST:PORT of the HTTP side (health, Sandbox Fusion's /run_code); unset: none.",
    )
    insecure_bind: bool = Field(
        default=False,
        description="Allow addresses that other machines reach with neither TLS nor tokens, or "
        "with tokens that anybody on the way can read, as there is no TLS.",
    )
    socket_mode: str = Field(
        "0600",
        pattern=r"^0?[0-7]{3}$",
        description="Who may connect to a unix socket, as chmod writes it (0660: the group too).",
    )
    tls_cert: Path | None = Field(
        None,
        description="Certificate (and chain) of the gRPC and HTTP ports, PEM; unset: no TLS. Unix "
        "sockets have none.",
    )
    tls_key: Path | None = Field(None, description="The private key of tls_cert, PEM.")
    tls_client_ca: Path | None = Field(
        None,
        description="Certificates that sign clients, PEM; set: who shows none is turned away "
        "(mutual TLS).",
    )
    tokens: Path | None = Field(
        None,
        description="File of bearer tokens, a name and a token a line (docs/service.md); unset: "
        "none is asked for.",
        json_schema_extra={REDACTED: True, **RELOADS},
    )
    slots: int | None = Field(
        None, ge=1, description="Programs that run at once; unset: the cores of this machine."
    )
    pin_slots: bool = Field(
        default=True,
        description="Bind each slot, and so its programs, to one core; for a host whose cores are "
        "shared with other work: false.",
    )
    accept: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Guarantees that may be missing on this host, by name (see `verifier doctor`).",
    )
    allow_unsafe: bool = Field(
        default=False, description="Allow the `process` backend, which isolates nothing."
    )
    image: str | None = Field(
        None, description="Image of the docker backend; unset: the one that this version builds."
    )
    runtime: str | None = Field(
        None,
        description="OCI runtime of the docker backend's containers, as the engine knows it (runc, "
        "crun, runsc); unset: the engine's default.",
    )
    runners_dir: str | None = Field(
        None,
        description="Folder of the sockets of the runners backend, whose containers somebody else "
        "starts (docs/sidecar.md).",
    )
    testlib: Path | None = Field(
        None,
        description="A testlib.h for checkers and interactors in C++ that do not bring their own.",
    )
    max_queue: int = Field(
        16_384,
        ge=1,
        description="Requests that may wait or run at once, about 7 KB each beside their program; "
        "more are refused.",
        json_schema_extra=RELOADS,
    )
    max_queue_bytes: int = Field(
        512 * _MIB,
        ge=_MIB,
        description="Bytes of requests held at once; more are refused.",
        json_schema_extra=RELOADS,
    )
    max_client_requests: int | None = Field(
        None,
        ge=1,
        description="Requests of one client that may wait or run at once (a token's line may say "
        "otherwise); unset: no bound but max_queue.",
        json_schema_extra=RELOADS,
    )
    max_client_bytes: int | None = Field(
        None,
        ge=1,
        description="Bytes of one client's requests held at once (a token's line may say "
        "otherwise); unset: no bound but max_queue_bytes.",
        json_schema_extra=RELOADS,
    )
    receive_timeout_s: float = Field(
        60.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds that a message, or the next piece of an upload, may take to arrive.",
        json_schema_extra=RELOADS,
    )
    write_timeout_s: float = Field(
        300.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds that an answer may wait for its client to read it; then the call "
        "is ended and what it holds is let go.",
        json_schema_extra=RELOADS,
    )
    stream_idle_s: float = Field(
        3600.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds that a stream may stand open with nothing under way; then it is "
        "ended, and its client opens another.",
        json_schema_extra=RELOADS,
    )
    max_message_bytes: int = Field(64 * _MIB, ge=64 * 1024, description="Size of one gRPC message.")
    max_cases: int = Field(
        100_000, ge=1, description="Test cases in one suite.", json_schema_extra=RELOADS
    )
    max_suite_bytes: int = Field(
        256 * _MIB,
        ge=1024,
        description="Size of one suite uploaded with PutSuite.",
        json_schema_extra=RELOADS,
    )
    suite_store_bytes: int = Field(
        512 * _MIB,
        ge=_MIB,
        description="Memory for suites that are kept; the least recently used go first.",
    )
    compile_slots: int | None = Field(
        None,
        ge=0,
        description="Compilers that run at once beside the programs; unset: as many as slots; "
        "0: programs are compiled where they run.",
    )
    cache_dir: str | None = Field(
        None,
        description="Folder of what is kept on disk: compiled programs, uploaded suites, "
        "precompiled headers. Empty: nothing is. Unset: ~/.cache/verifier for `serve`, nothing "
        "for other commands.",
    )
    compile_cache_bytes: int = Field(
        256 * _MIB, ge=_MIB, description="Memory for compiled programs."
    )
    compile_cache_disk_bytes: int = Field(
        1024 * _MIB, ge=_MIB, description="Disk for compiled programs, under cache_dir."
    )
    suite_store_disk_bytes: int = Field(
        4096 * _MIB, ge=_MIB, description="Disk for suites uploaded with PutSuite, under cache_dir."
    )
    result_cache_bytes: int = Field(
        64 * _MIB,
        ge=0,
        description="Memory for results, so that equal programs run once; 0: every request runs.",
    )
    stream_in_flight: int = Field(
        256,
        ge=1,
        description="Requests of one stream that wait or run at once.",
        json_schema_extra=RELOADS,
    )
    grace_s: float = Field(
        30.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds that running work gets at SIGTERM.",
        json_schema_extra=RELOADS,
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="Of the server's log; auto: console on a terminal, else json."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The least that is logged."
    )
    access_log: bool = Field(
        default=True, description="Log a line for each request (at level info)."
    )
    tracing: bool = Field(
        default=False, description="Make OpenTelemetry spans of requests and cases (extra `otel`)."
    )
    page_excerpts: bool = Field(
        default=True,
        description="Keep excerpts of what failed programs printed, for the page at the HTTP port.",
    )
    page_listeners: int = Field(
        16, ge=1, description="Browsers that watch the page live at once; more are refused."
    )
    default_limits: LimitSettings = Field(
        default_factory=lambda: _limit_settings(DEFAULT_LIMITS),
        description="Limits of a program where neither the request nor its data says more.",
        json_schema_extra=RELOADS,
    )
    max_limits: LimitSettings = Field(
        default_factory=lambda: _limit_settings(MAX_LIMITS),
        description="Ceilings: a request or a suite that asks for more is refused.",
        json_schema_extra=RELOADS,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is passed in: `load_settings` layers the sources, and so knows them."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @field_validator("accept", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value


def default_cache_dir(env: Mapping[str, str] | None = None) -> str:
    """Where a server keeps things: the XDG base directory's place for caches; "" without a home."""
    environ = os.environ if env is None else env
    base = environ.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():
        try:
            base = str(Path(environ["HOME"] if "HOME" in environ else Path.home()) / ".cache")
        except RuntimeError:
            return ""
    return str(Path(base) / "verifier")


def read_testlib(path: str | os.PathLike[str] | None) -> bytes | None:
    """The content of a testlib.h, or None where none is named.

    Raises:
        ConfigError: It cannot be read.
    """
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as exc:
        raise ConfigError(
            f"testlib: cannot read {path}: {exc.strerror}; name the file testlib.h itself"
        ) from exc


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One line of `verifier config show`.

    Attributes:
        name: Dotted key.
        value: As it is; "(not shown)" for what may be a secret.
        source: Where it comes from.
        description: What it is.
        overridden: Where else it was set, and to what.
    """

    name: str
    value: object
    source: str
    description: str
    overridden: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and their provenance.

    Attributes:
        settings: The values.
        sources: Dotted key -> "default", "file PATH", "env NAME", or "flag --name".
        overridden: Dotted key -> the other places that set it, the strongest first, and to what.
    """

    settings: Settings
    sources: Mapping[str, str]
    overridden: Mapping[str, tuple[tuple[str, object], ...]] = field(default_factory=dict)

    def rows(self) -> Iterator[SettingRow]:
        """Every setting with its value, source and description, in their order."""
        for name, description in _leaves():
            value: object = self.settings
            for part in name.split("."):
                value = getattr(value, part)
            others = tuple((at, _shown(name, v)) for at, v in self.overridden.get(name, ()))
            yield SettingRow(name, _shown(name, value), self.sources[name], description, others)


def _shown(name: str, value: object) -> object:
    """The value, where it is no secret. The path of a file is none, if there is such a file."""
    extra = Settings.model_fields[name.partition(".")[0]].json_schema_extra
    if value is None or not isinstance(extra, Mapping) or not extra.get(REDACTED):
        return value
    return value if isinstance(value, Path) and value.exists() else "(not shown)"


def _leaves() -> Iterator[tuple[str, str]]:
    """Dotted key and description of each setting that has a value of its own."""
    for name, info in Settings.model_fields.items():
        if info.annotation is LimitSettings:
            for inner, inner_field in LimitSettings.model_fields.items():
                yield f"{name}.{inner}", f"{info.description} {inner_field.description}"
        else:
            yield name, info.description or ""


def reloads(name: str) -> bool:
    """Whether a running gateway takes over this setting (dotted, or its table) at SIGHUP."""
    extra = Settings.model_fields[name.partition(".")[0]].json_schema_extra
    return isinstance(extra, Mapping) and bool(extra.get("reloads"))


# Flags that are not spelled as their setting.
_FLAGS = {"grace_s": "--grace"}
_KEYS = tuple(name for name, _ in _leaves())


def load_settings(
    file: str | os.PathLike[str] | None = None,
    flags: Mapping[str, object] | None = None,
    *,
    env: Mapping[str, str] | None = None,
) -> Loaded:
    """Layer defaults, a file, the environment and flags.

    Args:
        file: A TOML file; None takes `VERIFIER_CONFIG`, and no file where that is unset.
        flags: Key (dotted or nested) -> value; a value of None means that the flag was not given.
        env: Stands in for `os.environ`.

    Raises:
        ConfigError: A key is unknown, or a value is wrong; says which, where from, and what to
            type.
    """
    environ = os.environ if env is None else env
    values: dict[str, object] = {}
    sources = dict.fromkeys(_KEYS, "default")
    overridden: dict[str, tuple[tuple[str, object], ...]] = {}

    def put(key: str, value: object, source: str) -> None:
        if key in values:
            overridden[key] = ((sources[key], values[key]), *overridden.get(key, ()))
        values[key], sources[key] = value, source

    path = file if file is not None else environ.get("VERIFIER_CONFIG") or None
    if path is not None:
        for key, value in _flatten(_read_toml(Path(path))):
            _check_key(key, f"file {path}")
            put(key, value, f"file {path}")
    for key, value, name in _from_env(environ):
        put(key, value, f"env {name}")
    for key, value in _flatten(flags or {}):
        if value is None:
            continue
        name = _FLAGS.get(key, "--" + key.replace(".", "-").replace("_", "-"))
        _check_key(key, f"flag {name}")
        put(key, value, f"flag {name}")
    for table in ("default_limits", "max_limits"):
        cpu, wall = values.get(f"{table}.cpu_time_s"), values.get(f"{table}.wall_time_s")
        if wall is None and isinstance(cpu, (int, float)):
            values[f"{table}.wall_time_s"] = Limits.wall_for(float(cpu))
            sources[f"{table}.wall_time_s"] = f"derived from {table}.cpu_time_s"
    settings = _validate(values, sources)
    _check_limits(settings, sources)
    _check_tls(settings, sources)
    _check_address("grpc", settings.grpc, settings, sources)
    if settings.http is not None:
        _check_address("http", settings.http, settings, sources)
    return Loaded(settings, sources, overridden)


def _validate(values: Mapping[str, object], sources: Mapping[str, str]) -> Settings:
    nested: dict[str, Any] = {}
    defaults = {"default_limits": DEFAULT_LIMITS, "max_limits": MAX_LIMITS}
    for key, value in values.items():
        outer, _, inner = key.partition(".")
        if inner:
            table = nested.setdefault(outer, _limit_settings(defaults[outer]).model_dump())
            table[inner] = value
        else:
            nested[outer] = value
    try:
        return Settings(**nested)
    except ValidationError as exc:
        first = exc.errors()[0]
        parts = [str(part) for part in first["loc"]]
        key = next((k for n in (2, 1) if (k := ".".join(parts[:n])) in sources), ".".join(parts))
        problem = first["msg"].removeprefix("Value error, ")
        raise ConfigError(
            f"{key}: {problem}, got {first['input']!r} ({sources.get(key, 'default')})"
        ) from exc


def _read_toml(path: Path) -> dict[str, object]:
    try:
        table: dict[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise ConfigError(f"cannot read the settings file {path}: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path} is not TOML: {exc}") from exc
    return table


def _flatten(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _from_env(environ: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    """Key, value and variable of each setting in the environment."""
    names = {}
    for name in environ:
        upper = name.upper()
        if not upper.startswith(_ENV_PREFIX) or _NOT_SETTINGS.match(upper):
            continue
        key = upper[len(_ENV_PREFIX) :].lower().replace("__", ".")
        _check_key(key, f"env {name}", lambda known: _ENV_PREFIX + known.replace(".", "__").upper())
        names[key] = name
    for key, name in names.items():
        yield key, _env_value(key, environ[name], name), name


def _env_value(key: str, text: str, name: str) -> object:
    """The value as pydantic-settings reads it, which knows the types (JSON, booleans, "null")."""
    source = EnvSettingsSource(Settings)
    source.env_vars = {(_ENV_PREFIX + key.replace(".", "__")).lower(): text}
    try:
        value: Any = source()
    except SettingsError as exc:
        raise ConfigError(
            f"{key}: cannot read {text!r} (env {name}): {exc.__cause__ or exc}"
        ) from exc
    for part in key.split("."):
        value = value[part]
    if key.endswith("cpu_time_s") and isinstance(value, str):
        # The wall limit may have to be derived from it before the model converts it.
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _check_key(key: str, source: str, spell: Any = str) -> None:
    if key in _KEYS:
        return
    near = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.6)
    hint = (
        f"did you mean {spell(near[0])}?" if near else "`verifier config show` lists the known ones"
    )
    raise ConfigError(f"unknown setting {spell(key)} ({source}); {hint}")


def _check_limits(settings: Settings, sources: Mapping[str, str]) -> None:
    for name in LimitSettings.model_fields:
        default, ceiling = (
            getattr(settings.default_limits, name),
            getattr(settings.max_limits, name),
        )
        if default > ceiling:
            low, high = f"default_limits.{name}", f"max_limits.{name}"
            raise ConfigError(
                f"{low} = {default} ({sources[low]}) is over {high} = {ceiling} ({sources[high]}); "
                f"lower the first or raise the second"
            )


def _check_tls(settings: Settings, sources: Mapping[str, str]) -> None:
    given = {name: getattr(settings, name) for name in ("tls_cert", "tls_key", "tls_client_ca")}
    for needed in ("tls_cert", "tls_key"):
        other = next((name for name, value in given.items() if value is not None), None)
        if given[needed] is None and other is not None:
            raise ConfigError(f"{needed}: missing beside {other} ({sources[other]})")


def _check_address(key: str, address: str, settings: Settings, sources: Mapping[str, str]) -> None:
    try:
        # HTTP is served on TCP alone.
        local = is_loopback(address) and (key == "grpc" or bool(split_address(address)))
    except ValueError as exc:
        raise ConfigError(f"{key}: {exc}, got {address!r} ({sources[key]})") from exc
    if local or settings.insecure_bind or settings.tls_cert is not None:
        return
    why = (
        "neither TLS nor tokens are set: anybody there could run programs here. Set tokens and "
        "tls_cert, or tls_client_ca (docs/service.md)"
        if settings.tokens is None
        else "there is no TLS: whoever is on the way can read the tokens. Set tls_cert and tls_key"
    )
    raise ConfigError(
        f"{key}: {address} ({sources[key]}) can be reached from other machines, and {why}, use "
        f"127.0.0.1:PORT"
        + (" or unix:PATH" if key == "grpc" else "")
        + ", or accept it: `insecure_bind = true`, VERIFIER_INSECURE_BIND=1, --insecure-bind"
    )
