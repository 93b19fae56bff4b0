"""Test sources: whether they are Python, and what they call."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

from verifier import _python
from verifier.errors import SuiteError

_BUILTINS = frozenset(dir(builtins))
_MAX_CHARS = 4_000_000
_INFER_CASES = 200
_INFER_CHARS = 20_000


def checked(source: str, field: str) -> str:
    """The source, if it is Python that does something.

    A test that does not parse fails every program: that is broken data, not a wrong program.
    """
    if len(source) > _MAX_CHARS:
        raise SuiteError(field, f"a test of {len(source)} characters")
    if not source.strip():
        raise SuiteError(field, "empty")
    if len(source) <= _python.MAX_PARSE_CHARS and _python.parse(source) is None:
        raise SuiteError(field, "not valid Python")
    return source


def infer_entry_point(tests: Sequence[str]) -> str | None:
    """The one function that every test calls, if exactly one: it helps to find the block."""
    common: set[str] | None = None
    for test in tests[:_INFER_CASES]:
        tree = _python.parse(test) if len(test) <= _INFER_CHARS else None
        if tree is None:
            return None
        called, bound = _names(tree)
        found = called - bound - _BUILTINS
        common = found if common is None else common & found
        if not common:
            return None
    return next(iter(common)) if common and len(common) == 1 else None


def needs_objects(source: str) -> bool:
    """Whether a test can only run beside the program's real classes, in its process.

    Decided from the test alone, never from the program: else a program could choose the weaker
    mode. Stand-ins carry calls, attributes, iteration and callbacks; they cannot be a base class or
    answer `isinstance`.
    """
    tree = _python.parse(source)
    if tree is None:
        return False
    _, bound = _names(tree)
    own = bound | _BUILTINS

    def foreign(node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id not in own for n in ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(foreign(base) for base in node.bases):
            return True
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
            and len(node.args) == 2
            and foreign(node.args[1])
        ):
            return True
    return False


def _names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Names that are called, and names that the source itself binds."""
    called: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if isinstance(node, ast.Import) or node.module not in SOLUTION_MODULES:
                bound.update((a.asname or a.name).split(".")[0] for a in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return called, bound


# Modules from which pytest bodies import the program under test.
SOLUTION_MODULES = frozenset(
    {"solution", "solutions", "main", "your_module", "your_solution", "program"}
)


def pytest_cases(source: str, field: str) -> list[str]:
    """One test source per test function of a pytest body.

    `from solution import f` finds no such module in the jail, where the program's names are at hand
    already: the import becomes an assignment (or nothing). Plain functions and classes of them are
    unrolled; a body without test functions is one test.
    """
    tree = _python.parse(source) if len(source) <= _python.MAX_PARSE_CHARS else None
    if tree is None:
        raise SuiteError(field, "not valid Python, or too long to be read")
    body = without_solution_imports(source, tree)
    calls = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            calls.append(f"{node.name}()")
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            calls += [
                f"{node.name}().{method.name}()"
                for method in node.body
                if isinstance(method, ast.FunctionDef) and method.name.startswith("test")
            ]
    return [f"{body}\n{call}\n" for call in calls] or [body]


def without_solution_imports(source: str, tree: ast.Module) -> str:
    """The source with top-level imports of the program replaced in place (line numbers stay)."""
    lines = source.split("\n")
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in SOLUTION_MODULES:
            stand_in = (
                "; ".join(
                    f"{a.asname} = {a.name}" for a in node.names if a.asname and a.name != "*"
                )
                or "pass"
            )
        elif isinstance(node, ast.Import) and all(a.name in SOLUTION_MODULES for a in node.names):
            names = [a.asname or a.name for a in node.names]
            stand_in = "; ".join(
                f"{n} = __import__('types').SimpleNamespace(**globals())" for n in names
            )
        else:
            continue
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        lines[first : last + 1] = [stand_in] + [""] * (last - first)
    return "\n".join(lines)
