"""Kotlin as scripts: the same programs, with a call of `main` at their end."""

from tests.languages.cells import kotlin
from tests.languages.cells.base import Cells

CELLS: Cells = {kind: f"{source}\nmain()\n" for kind, source in kotlin.CELLS.items()}
