"""The attacks, as data: one TOML file each under `attacks/<group>/`.

A file says what the program is, how it is run, which statuses are right, and what the program must
have printed: an attack prints what became of its attempt ("mount EPERM"), so that a typo or a
module that is not there cannot look like a refusal. docs/security.md describes the fields.

A row of the list that is no program (a property of the service, say) has the kind "none" and a note
that says why, so that nothing of the list is silently left out.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import resources
from typing import Any

from verifier.errors import ConfigError
from verifier.sandbox.base import GuaranteeName
from verifier.types import LimitOverrides, Limits, Status

if sys.version_info >= (3, 11):
    from importlib.resources.abc import Traversable

    import tomllib
else:
    from importlib.abc import Traversable

    import tomli as tomllib

GROUPS = ("time", "memory", "processes", "output", "files", "kernel", "compile", "cheating")
# What attacks are aimed at, besides what `Sandbox.guarantees` names.
WORDS = {
    "cpu_limit": "a run ends at its CPU limit, however many processes share the work",
    "wall_limit": "a run ends at its wall-clock limit",
    "output_limit": "a run ends at its output limit, and what it wrote is kept as bytes",
    "no_leftovers": "nothing of a run is there for the next one",
    "verdict": "the facts and the verdict are right, whatever the program does",
    "hidden_answers": "expected values are out of the program's reach",
    "compile_jail": "compilers are jailed like programs",
    "requests": "a request that asks for nonsense is refused",
}
REJECTED = "REJECTED"
INFRA = "INFRA_ERROR"
STATUSES = frozenset({*(s.value for s in Status), REJECTED, INFRA})
MIB = 1024 * 1024
# Small, so that an attack is over soon; the wall limit is long, so that a busy host changes
# nothing. One memory limit for nearly all: setting another one costs a call to the engine.
LIMITS = Limits(
    cpu_time_s=0.3,
    wall_time_s=5.0,
    memory_bytes=96 * MIB,
    output_bytes=64 * 1024,
    processes=32,
    file_bytes=16 * MIB,
    open_files=64,
)
COMPILE_LIMITS = Limits(
    cpu_time_s=2.0,
    wall_time_s=20.0,
    memory_bytes=384 * MIB,
    output_bytes=64 * 1024,
    processes=32,
    file_bytes=16 * MIB,
    open_files=64,
)


class Kind(str, Enum):
    """How an attack is run.

    STDIN: the program is run once for each input; with `expected`, its output is judged.
    CALL: the function `fn_name` is called with `args`.
    ASSERT: `test` is run against it.
    INTERACTIVE: `interactor` talks with it.
    COMPILE: it is only compiled.
    REQUEST: the request itself is the attack.
    NONE: no program; `note` says why.
    """

    STDIN = "stdin"
    CALL = "call"
    ASSERT = "assert"
    INTERACTIVE = "interactive"
    COMPILE = "compile"
    REQUEST = "request"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Checks:
    """What else must be true of every run; None is not looked at."""

    exit_code: int | None = None
    signal: int | None = None
    killer: tuple[str, ...] | None = None
    cpu_above_s: float | None = None
    wall_below_s: float | None = None
    memory_above_mb: float | None = None
    memory_below_mb: float | None = None
    stdout_bytes: int | None = None
    stderr_contains: str | None = None
    message_contains: str | None = None
    message_lacks: str | None = None
    message_below_bytes: int | None = None
    artifact: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Attack:
    """One file of the catalogue.

    Attributes:
        key: "<group>/<file name>": unique.
        id: Row of the list it is from; "own-N" where it is our own.
        title: What it does.
        group: One of `GROUPS`.
        guarantees: What it is aimed at: names of guarantees, or keys of `WORDS`. Where one of them
            is missing on a host, the attack is "not guaranteed" there.
        kind: See `Kind`.
        program: Source code.
        language: Of the program.
        stdin: Its standard input.
        stdin_bytes: So many bytes instead, all alike.
        lure: A listener waits on this host's loopback and on an abstract unix address; the program
            reads the port and the address from its standard input.
        limits: Of each run (of the compiler, for COMPILE).
        overrides: For REQUEST: the limits as the request gives them.
        expect: The statuses that are right.
        stdout: If there are any: the standard output is one of these, to the byte (in a file,
            `stdout_hex` gives bytes that are no text).
        contains: Each of these is in the standard output.
        lacks: None of these is in what the run gave back, in whatever field.
        expected: For a judged STDIN run: the right answer. For a CALL: JSON.
        comparator: How the answer is compared.
        checker: Python source of `check(input, output, answer)` that judges instead.
        fn_name: For CALL and ASSERT.
        args: For CALL: JSON list.
        test: For ASSERT: source code.
        interactor: For INTERACTIVE: Python, in Kattis' style.
        argv: For COMPILE: a command instead of the language's compiler.
        outputs: For COMPILE: patterns of what makes the artifact.
        files: For COMPILE: names of further (empty) files. For REQUEST: names of a checker's files.
        runs: How often it is run, one after the other, in one slot: each time with equal results.
        checks: See `Checks`.
        hostile: It attacks; the others are what must go well beside it.
        control: Names of mechanisms: with all of these switched off the attack succeeds.
        succeeds: What is then found: a part of the output, or of what the sweep says.
        soak: It may be repeated under load with short limits.
        note: Why, and what is wrong or does not apply about the row.
    """

    key: str
    id: str
    title: str
    group: str
    guarantees: tuple[str, ...]
    kind: Kind
    program: bytes
    language: str
    stdin: bytes
    stdin_bytes: int
    lure: bool
    limits: Limits
    overrides: LimitOverrides
    expect: frozenset[str]
    stdout: tuple[bytes, ...]
    contains: tuple[bytes, ...]
    lacks: tuple[bytes, ...]
    expected: bytes | None
    comparator: str
    checker: str
    fn_name: str
    args: str
    test: str
    interactor: str
    argv: tuple[str, ...]
    outputs: tuple[str, ...]
    files: tuple[str, ...]
    runs: int
    checks: Checks
    hostile: bool
    control: tuple[str, ...]
    succeeds: str
    soak: bool
    note: str


FIELDS = frozenset(f.name for f in dataclasses.fields(Attack)) - {"key", "group", "overrides"} | {
    "stdout_hex"
}
ALIASES = {"guarantee": "guarantees", "check": "checks"}
PRELUDES = "preludes.toml"


def load(root: Traversable | None = None) -> tuple[Attack, ...]:
    """All attacks, by group and name.

    Raises:
        ConfigError: A file is malformed; it is named.
    """
    root = root or resources.files("verifier.stress").joinpath("attacks")
    preludes = _parse(root.joinpath(PRELUDES))
    found = [
        _attack(group, file, preludes)
        for group in GROUPS
        for file in sorted(_toml_files(root.joinpath(group)), key=lambda f: f.name)
    ]
    return tuple(found)


def _toml_files(folder: Traversable) -> Iterator[Traversable]:
    return (file for file in folder.iterdir() if file.name.endswith(".toml"))


def _parse(file: Traversable) -> dict[str, Any]:
    try:
        found: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise ConfigError(f"{file.name}: {e}") from e
    return found


def _attack(group: str, file: Traversable, preludes: Mapping[str, str]) -> Attack:
    key = f"{group}/{file.name.removesuffix('.toml')}"
    given = {ALIASES.get(name, name): value for name, value in _parse(file).items()}
    prelude = given.pop("prelude", None)
    unknown = given.keys() - FIELDS
    if unknown:
        raise ConfigError(f"{key}: there is no field {', '.join(sorted(unknown))}")
    try:
        attack = _from(key, group, given, preludes[prelude] if prelude else "")
    except (KeyError, TypeError, ValueError) as e:
        raise ConfigError(f"{key}: {type(e).__name__}: {e}") from e
    _check(attack)
    return attack


def _from(key: str, group: str, given: Mapping[str, Any], prelude: str) -> Attack:
    kind = Kind(given.get("kind", "stdin"))
    defaults = COMPILE_LIMITS if kind is Kind.COMPILE else LIMITS
    limits = given.get("limits", {})
    expected = given.get("expected")
    return Attack(
        key=key,
        id=str(given["id"]),
        title=given["title"],
        group=group,
        guarantees=_texts(given["guarantees"]),
        kind=kind,
        program=(prelude + given.get("program", "")).encode(),
        language=given.get("language", "python"),
        stdin=given.get("stdin", "").encode(),
        stdin_bytes=given.get("stdin_bytes", 0),
        lure=given.get("lure", False),
        limits=defaults if kind is Kind.REQUEST else dataclasses.replace(defaults, **limits),
        overrides=LimitOverrides(**limits) if kind is Kind.REQUEST else LimitOverrides(),
        expect=frozenset(_texts(given.get("expect", ()))),
        stdout=(
            *(t.encode() for t in _texts(given.get("stdout", ()))),
            *(bytes.fromhex(t) for t in _texts(given.get("stdout_hex", ()))),
        ),
        contains=tuple(t.encode() for t in _texts(given.get("contains", ()))),
        lacks=tuple(t.encode() for t in _texts(given.get("lacks", ()))),
        expected=None if expected is None else expected.encode(),
        comparator=given.get("comparator", "lines"),
        checker=given.get("checker", ""),
        fn_name=given.get("fn_name", ""),
        args=given.get("args", "[]"),
        test=given.get("test", ""),
        interactor=given.get("interactor", ""),
        argv=_texts(given.get("argv", ())),
        outputs=_texts(given.get("outputs", ())),
        files=_texts(given.get("files", ())),
        runs=given.get("runs", 1),
        checks=_checks(given.get("checks", {})),
        hostile=given.get("hostile", True),
        control=_texts(given.get("control", ())),
        succeeds=given.get("succeeds", ""),
        soak=given.get("soak", False),
        note=given.get("note", "").strip(),
    )


def _texts(value: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _checks(given: Mapping[str, Any]) -> Checks:
    lists = {name: _texts(given[name]) for name in ("killer", "artifact") if name in given}
    return Checks(**{**given, **lists})


def _check(attack: Attack) -> None:
    """What the fields must be to each other."""

    def need(condition: object, problem: str) -> None:
        if not condition:
            raise ConfigError(f"{attack.key}: {problem}")

    known = {g.value for g in GuaranteeName} | WORDS.keys()
    need(attack.title, "no title")
    need(attack.guarantees, "no guarantee")
    unknown = set(attack.guarantees) - known
    need(not unknown, f"there is no guarantee {', '.join(sorted(unknown))}")
    need(attack.expect <= STATUSES, f"no status: {', '.join(sorted(attack.expect - STATUSES))}")
    need(attack.runs > 0, "runs must be positive")
    need(bool(attack.control) == bool(attack.succeeds), "control and succeeds go together")
    if attack.kind is Kind.NONE:
        need(attack.note, "no program, and no note that says why")
        need(not attack.expect, "nothing is expected of no program")
        return
    need(attack.expect, "nothing is expected")
    need(attack.program or attack.kind is Kind.REQUEST, "no program")
    need(attack.kind is not Kind.CALL or attack.fn_name, "a call needs fn_name")
    need(attack.kind is not Kind.ASSERT or attack.test, "an assert needs a test")
    need(attack.kind is not Kind.INTERACTIVE or attack.interactor, "no interactor")
    need(
        not attack.soak or attack.kind is Kind.STDIN,
        "only programs with standard input are repeated under load",
    )
