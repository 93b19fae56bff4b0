"""Languages: one recipe per file, found by canonical name or by any alias, in any case.

Unit-test modes have recipes too (`unit_tests`): they are no languages, so no name of a language
leads to them.
"""

from __future__ import annotations

from verifier.languages.base import CalledProgram, Library, Recipe
from verifier.languages.registry import RECIPES, get, of_sandbox_fusion, resolve, written_as
from verifier.languages.unit_tests import MODES

PROBED: dict[str, Recipe] = RECIPES | {name: mode.recipe for name, mode in MODES.items()}
"""All that a sandbox is asked for."""

__all__ = [
    "MODES",
    "PROBED",
    "RECIPES",
    "CalledProgram",
    "Library",
    "Recipe",
    "get",
    "of_sandbox_fusion",
    "resolve",
    "written_as",
]
