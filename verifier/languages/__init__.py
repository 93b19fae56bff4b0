"""Languages: one recipe per file, found by canonical name or by any alias, in any case."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.languages.registry import RECIPES, get, resolve

__all__ = ["RECIPES", "Recipe", "get", "resolve"]
