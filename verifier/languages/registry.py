"""All recipes, and the names that lead to them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from verifier.errors import RequestError
from verifier.languages.base import Recipe
from verifier.languages.bash import BASH
from verifier.languages.c import C
from verifier.languages.cpp import CPP, CPP_STANDARDS
from verifier.languages.csharp import CSHARP
from verifier.languages.d import D_UT, D
from verifier.languages.elsewhere import CUDA, JULIA, LEAN, SWIFT
from verifier.languages.fortran import FORTRAN
from verifier.languages.go import GO
from verifier.languages.haskell import HASKELL
from verifier.languages.java import JAVA
from verifier.languages.javascript import JAVASCRIPT
from verifier.languages.kotlin import KOTLIN, KOTLIN_SCRIPT
from verifier.languages.lua import LUA
from verifier.languages.ocaml import OCAML
from verifier.languages.octave import OCTAVE
from verifier.languages.pascal import PASCAL
from verifier.languages.perl import PERL
from verifier.languages.php import PHP
from verifier.languages.pypy import PYPY
from verifier.languages.python import PYTHON
from verifier.languages.r import R
from verifier.languages.racket import RACKET
from verifier.languages.ruby import RUBY
from verifier.languages.rust import RUST
from verifier.languages.scala import SCALA
from verifier.languages.sql import SQL
from verifier.languages.typescript import TYPESCRIPT
from verifier.languages.verilog import VERILOG

# The first is what a message names first. A new language is its file and its place here.
_ALL = (
    *(PYTHON, PYPY, CPP, *CPP_STANDARDS, C, JAVA, KOTLIN, KOTLIN_SCRIPT, SCALA),
    *(JAVASCRIPT, TYPESCRIPT, GO, RUST),
    *(CSHARP, RUBY, PHP, PERL, LUA, BASH, SQL, R, OCTAVE, HASKELL, OCAML, RACKET, D, D_UT),
    *(PASCAL, FORTRAN, VERILOG, SWIFT, JULIA, LEAN, CUDA),
)


def names_of(recipes: Iterable[Recipe]) -> dict[str, str]:
    """Every spelling -> canonical name.

    Raises:
        ValueError: Two recipes claim one spelling, or it is not lower case without blanks.
    """
    found: dict[str, str] = {}
    for recipe in recipes:
        for spelling in (recipe.name, *recipe.aliases):
            if spelling != _plain(spelling):
                raise ValueError(f"{recipe.name}: {spelling!r} has blanks or capitals")
            if spelling in found:
                raise ValueError(f"{spelling!r} is of {found[spelling]} and of {recipe.name}")
            found[spelling] = recipe.name
    return found


def _plain(tag: str) -> str:
    return "".join(tag.lower().split())


RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _ALL}

_BY_NAME: dict[str, str] = names_of(_ALL)


def resolve(tag: str) -> str | None:
    """Canonical name of a language, or None if no recipe goes by that name.

    Case and blanks do not matter ("Python 3", "PYTHON3").
    """
    return _BY_NAME.get(_plain(tag))


def written_as(tag: str) -> str | None:
    """The language that a text with this tag is written in: C++ for "c++17", Python for "pypy3"."""
    name = resolve(tag)
    return name and (RECIPES[name].written_as or name)


def get(name: str) -> Recipe:
    """The recipe of a language.

    Raises:
        RequestError: There is none; the message names the nearest.
    """
    canonical = resolve(name)
    if canonical is not None:
        return RECIPES[canonical]
    near = difflib.get_close_matches(_plain(name[:40]), _BY_NAME, n=5, cutoff=0.6)
    nearest = list(dict.fromkeys(_BY_NAME[n] for n in near))[:3]
    if nearest:
        raise RequestError(
            "language", f"unknown language {name[:40]!r}; did you mean {', '.join(nearest)}"
        )
    raise RequestError(
        "language",
        f"unknown language {name[:40]!r}; `verifier languages list` names the "
        f"{len(RECIPES)} that are known",
    )


def of_sandbox_fusion() -> dict[str, str]:
    """Sandbox Fusion's names of the languages that it runs as programs -> ours."""
    return {name: recipe.name for recipe in _ALL for name in recipe.sandbox_fusion}
