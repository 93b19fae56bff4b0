"""The programs of the matrix of languages: one module a language, named as its recipe."""

from __future__ import annotations

import importlib
import pkgutil

from tests.languages.cells.base import Cells
from verifier.languages import RECIPES

CELLS: dict[str, Cells] = {
    module.name: importlib.import_module(f"{__name__}.{module.name}").CELLS
    for module in pkgutil.iter_modules(__path__)
    if module.name != "base"
}


def cells_of(language: str) -> Cells:
    """The programs of a recipe: its own module's, or those of the language it is written as.

    Raises:
        KeyError: Nobody has written them.
    """
    return CELLS.get(language) or CELLS[RECIPES[language].written_as or language]
