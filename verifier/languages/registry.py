"""All recipes, and the names that lead to them."""

from __future__ import annotations

import difflib

from verifier.errors import RequestError
from verifier.languages.base import Recipe
from verifier.languages.c import C
from verifier.languages.cpp import CPP
from verifier.languages.java import JAVA
from verifier.languages.javascript import JAVASCRIPT
from verifier.languages.python import PYTHON

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (PYTHON, CPP, C, JAVA, JAVASCRIPT)}

_BY_NAME: dict[str, str] = {
    spelling: recipe.name
    for recipe in RECIPES.values()
    for spelling in (recipe.name, *recipe.aliases)
}


def resolve(tag: str) -> str | None:
    """Canonical name of a language, or None if no recipe goes by that name.

    Case and blanks do not matter ("Python 3", "PYTHON3").
    """
    return _BY_NAME.get("".join(tag.lower().split()))


def get(name: str) -> Recipe:
    """The recipe of a language.

    Raises:
        RequestError: There is none; the message names the nearest.
    """
    canonical = resolve(name)
    if canonical is not None:
        return RECIPES[canonical]
    near = difflib.get_close_matches(name.lower()[:40], _BY_NAME, n=3, cutoff=0.6)
    nearest = list(dict.fromkeys(_BY_NAME[n] for n in near)) or list(RECIPES)
    word = "did you mean" if near else "known:"
    raise RequestError("language", f"unknown language {name[:40]!r}; {word} {', '.join(nearest)}")
