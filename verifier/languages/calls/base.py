"""What a recipe says about calls, and what is done to a source for one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# What a driver is called with: see the package.
PATHS = ("/proc/self/fd/4", "/proc/self/fd/3")
_HERE = Path(__file__).parent
_NAME = re.compile(r"[A-Za-z_]\w{0,199}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Target:
    """What is called.

    Attributes:
        names: How the function may be spelled; the test's own spelling is first.
        arity: How many arguments the test gives.
    """

    names: tuple[str, ...]
    arity: int

    @property
    def shown(self) -> str:
        """The name for a message."""
        return self.names[0] if self.names else "of that name"


@dataclass(frozen=True, slots=True)
class Completed:
    """A program that answers calls.

    Attributes:
        source: What is compiled in the source's place. Its lines have the numbers that they have in
            the response, for the compiler's messages.
        files: What lies beside it.
    """

    source: str
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Calls:
    """How the programs of one language are called.

    Attributes:
        complete: Puts the driver around a source.
        signatures: What may be called, for the page of languages.
        types: What arguments and results may be, for the same page.
        compiled_name: The file that the compiler gets in the source's place, where it is another.
        outputs: Files of the artifact, where they are others than of a program with a `main`.
        run_argv: The command of a run, without the paths; the same.
        names_in_run: The names follow the paths: the function is looked up in the run.
    """

    complete: Callable[[str, Target], Completed]
    signatures: str
    types: str
    compiled_name: str = ""
    outputs: tuple[str, ...] = ()
    run_argv: tuple[str, ...] = ()
    names_in_run: bool = False


def driver(name: str) -> str:
    """The text of a driver's file in this folder."""
    return (_HERE / name).read_text()


def spellings(name: str) -> tuple[str, ...]:
    """A function's name as it is, in camelCase, in snake_case and in PascalCase.

    A name that is none in any language has no spelling.
    """
    if not _NAME.fullmatch(name):
        return ()
    camel = re.sub(r"(?<=[A-Za-z0-9])_+([A-Za-z0-9])", lambda m: m[1].upper(), name)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return tuple(dict.fromkeys((name, camel, snake, camel[:1].upper() + camel[1:])))
