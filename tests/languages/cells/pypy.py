"""PyPy: Python's programs."""

from tests.languages.cells import python

CELLS = python.CELLS
