"""Languages: one recipe per file, found by canonical name or by any alias, in any case."""

from __future__ import annotations

from verifier.languages.base import CalledProgram, Library, Recipe
from verifier.languages.registry import RECIPES, get, of_sandbox_fusion, resolve, written_as

__all__ = [
    "RECIPES",
    "CalledProgram",
    "Library",
    "Recipe",
    "get",
    "of_sandbox_fusion",
    "resolve",
    "written_as",
]
