"""PyPy: Python for programs that count. Blocks and answers are Python's; the request chooses it."""

from __future__ import annotations

from verifier.languages.base import Library, Recipe
from verifier.languages.python import PYTHON
from verifier.types import Harness

PYPY = Recipe(
    name="pypy",
    title="PyPy",
    aliases=("pypy3", "pypy-3", "pypy3.9", "pypy3.10"),
    family="scripts",
    packages=("pypy3",),
    # Those of CPython's that are Python alone.
    libraries=tuple(
        Library(
            *(name, f"python3-{name}", f"/usr/lib/python3/dist-packages/{name}-*-info"),
            rf"/{name}-([\d.]+)\.\w+-info",
        )
        for name in ("sympy", "networkx", "sortedcontainers")
    ),
    written_as=PYTHON.name,
    source_name="main.py",
    run_harness=Harness.EXEC,
    compile_argv=("pypy3", "-c", "compile(open('main.py', 'rb').read(), 'main.py', 'exec')"),
    outputs=("main.py",),
    run_argv=("pypy3", "-s", "/program/main.py"),
    version_argv=("pypy3", "--version"),
    # As CPython's: integers of any length are printed.
    env=(("PYTHONINTMAXSTRDIGITS", "0"),),
    extra_processes=4,
    self_test=PYTHON.self_test,
    memory_marks=PYTHON.memory_marks,
    stack_overflow=PYTHON.stack_overflow,
    notes=("Python 3.9, without numpy and what needs it. Programs only: no call-based tests."),
)
