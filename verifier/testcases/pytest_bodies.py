"""Bodies of pytest or unittest tests, as one source per test.

pytest itself does not run: it would share its process, its plug-ins and its exit code with what is
tested. What data sets use of it is written out: a test function is a call of it, a parametrized one
is a call for each set of parameters, fixtures are calls in the place of arguments, classes get
their set-up methods called. A test that asks for more is broken data: no program could pass it.

`from solution import f` finds no such module in the jail, where the program's names are at hand
already: the import becomes an assignment (or nothing).
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from verifier import _python
from verifier.errors import SuiteError
from verifier.testcases.sources import SOLUTION_MODULES

_Function = ast.FunctionDef | ast.AsyncFunctionDef
# Sets of parameters of one function; they are at most so many tests (each carries the whole body).
_MAX_SETS, _MAX_TESTS = 4096, 64
_MAX_FIXTURE_DEPTH = 8
# Of all tests of a body together: each is read again.
_MAX_CHARS = 16_000_000
# A test with one of these says nothing about a program: it is not run, or may fail.
_SKIPS = frozenset(("skip", "xfail", "expectedFailure"))
# Fixtures of pytest's own that need nothing of pytest, or what runner/agent/pytest_shim.py has.
_PLAIN_FIXTURES = {
    "capsys": "__import__('pytest').CaptureFixture()",
    "monkeypatch": "__import__('pytest').MonkeyPatch()",
    "tmp_path": "__import__('pathlib').Path(__import__('tempfile').mkdtemp())",
    "tmpdir": "__import__('tempfile').mkdtemp()",
}


def pytest_cases(source: str, name: str) -> list[str]:
    """One test source per test; a body without test functions is one test.

    Args:
        source: The body.
        name: Of its field, for errors.

    Raises:
        SuiteError: It does not parse, or a test asks for a fixture that is not there.
    """
    tree = _python.parse(source) if len(source) <= _python.MAX_PARSE_CHARS else None
    if tree is None:
        raise SuiteError(name, "not valid Python, or too long to be read")
    body = _Body(tree, name)
    lines = source.split("\n")
    _replace_solution_imports(lines, tree)
    for decorator in body.decorators:
        # Written out above, or of no use; line numbers stay.
        first, last = decorator.lineno - 1, (decorator.end_lineno or decorator.lineno) - 1
        lines[first : last + 1] = [""] * (last - first + 1)
    text = "\n".join(lines)
    try:
        calls = list(body.calls())
    except ValueError as error:  # ast.unparse writes no integer of many digits
        raise SuiteError(name, f"cannot be written out: {error}") from None
    if len(text) * len(calls) > _MAX_CHARS:
        raise SuiteError(name, f"{len(calls)} tests of {len(text)} characters each")
    if not calls and any(map(_is_skipped, ast.walk(tree))):
        raise SuiteError(name, "every test is skipped")
    return [f"{text}\n{call}\n" for call in calls] or [text]


@dataclass(slots=True)
class _Body:
    """What a body defines."""

    tree: ast.Module
    name: str
    fixtures: dict[str, _Function] = field(default_factory=dict)
    decorators: list[ast.expr] = field(default_factory=list)
    unittests: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.used = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        for node in self.tree.body:
            inner = node.body if isinstance(node, ast.ClassDef) else [node]
            for function in inner:
                if isinstance(function, _Function):
                    for decorator in function.decorator_list:
                        kind = _last_name(decorator)
                        if kind in ("fixture", "parametrize"):
                            self.decorators.append(decorator)
                        if kind == "fixture" and function is node:
                            self.fixtures[function.name] = function
            if isinstance(node, ast.ClassDef) and any(
                _last_name(base).endswith("TestCase") or _last_name(base) in self.unittests
                for base in node.bases
            ):
                self.unittests.add(node.name)

    def calls(self) -> Iterator[str]:
        """The source of a call for each test."""
        names = {node.name for node in self.tree.body if isinstance(node, _Function)}
        before = "setup_module()\n" if "setup_module" in names else ""
        for function in self.fixtures.values():
            if _is_autouse(function):
                before += self._fixture(function.name, 0, "") + "\n"
        for node in self.tree.body:
            if _is_skipped(node):
                continue
            if isinstance(node, _Function) and node.name.startswith("test"):
                if node.name not in self.fixtures and not self._is_helper(node):
                    yield from (before + call for call in self._sets(node, node.name, ""))
            elif isinstance(node, ast.ClassDef):
                if node.name in self.unittests:
                    yield from (before + call for call in _unittest_calls(node))
                elif node.name.startswith("Test"):
                    yield from (before + call for call in self._class_calls(node))

    def _is_helper(self, function: _Function) -> bool:
        """Other tests call it, with arguments that no fixture gives."""
        try:
            list(self._sets(function, function.name, ""))
        except SuiteError:
            return function.name in self.used
        return False

    def _class_calls(self, node: ast.ClassDef) -> Iterator[str]:
        methods = {m.name: m for m in node.body if isinstance(m, _Function)}
        before = "_test = " + node.name + "()\n"
        for name in ("setup_class", "setup_method", "setUp", "setup"):
            if name in methods:
                static = any(_last_name(d) == "staticmethod" for d in methods[name].decorator_list)
                more = len(methods[name].args.args) - (not static)
                before += f"_test.{name}({'None' if more > 0 else ''})\n"
        for name, method in methods.items():
            if name.startswith("test") and not _is_skipped(method):
                yield from self._sets(method, f"_test.{name}", before)

    def _sets(self, function: _Function, called: str, before: str) -> Iterator[str]:
        """The calls of a test: one, or one for each set of parameters."""
        marks = [
            decorator
            for decorator in function.decorator_list
            if isinstance(decorator, ast.Call) and _last_name(decorator) == "parametrize"
        ]
        rows: list[list[dict[str, str]]] = []
        loops = ""
        given: dict[str, str] = {}
        for mark in marks:
            names, values = self._parameters(mark)
            if isinstance(values, (ast.List, ast.Tuple)) and not any(
                isinstance(item, ast.Starred) for item in values.elts
            ):
                rows.append([_set(names, item) for item in values.elts])
            else:
                # Not known before the test runs: all of them are one test.
                variable = f"_set{len(given)}"
                loops += f"{' ' * loops.count(chr(10))}for {variable} in {ast.unparse(values)}:\n"
                one = len(names) == 1
                for at, name in enumerate(names):
                    given[name] = variable if one else f"{variable}[{at}]"
        sets = list(itertools.islice(itertools.product(*rows), _MAX_SETS + 1))
        calls = []
        for chosen in sets:
            known = {**given, **{n: v for row in chosen for n, v in row.items()}}
            arguments = ", ".join(self._arguments(function, known, method="." in called))
            call = f"{called}({arguments})"
            if isinstance(function, ast.AsyncFunctionDef):
                call = f"__import__('asyncio').run({call})"
            calls.append(f"{loops}{' ' * loops.count(chr(10))}{call}")
        if len(sets) > _MAX_SETS:
            raise SuiteError(self.name, f"{called}: over {_MAX_SETS} sets of parameters")
        size = -(-len(calls) // _MAX_TESTS) or 1
        for at in range(0, len(calls), size):
            yield "\n".join(before + call for call in calls[at : at + size])

    def _parameters(self, mark: ast.Call) -> tuple[list[str], ast.expr]:
        keywords = {keyword.arg: keyword.value for keyword in mark.keywords}
        names = mark.args[0] if mark.args else keywords.get("argnames")
        values = mark.args[1] if len(mark.args) > 1 else keywords.get("argvalues")
        if isinstance(names, ast.Constant) and isinstance(names.value, str) and values is not None:
            return [part.strip() for part in names.value.split(",") if part.strip()], values
        if isinstance(names, (ast.List, ast.Tuple)) and values is not None:
            found = [n.value for n in names.elts if isinstance(n, ast.Constant)]
            return [str(name) for name in found], values
        raise SuiteError(self.name, "a parametrize without names and values")

    def _arguments(
        self,
        function: _Function,
        values: Mapping[str, str],
        *,
        method: bool = False,
        depth: int = 0,
    ) -> Iterator[str]:
        given = function.args
        own = method and not any(_last_name(d) == "staticmethod" for d in function.decorator_list)
        defaults: list[ast.expr | None] = [None] * (len(given.args) - len(given.defaults))
        defaults += given.defaults
        pairs = [*zip(given.args, defaults, strict=True)][1 if own else 0 :]
        for argument, default in [*pairs, *zip(given.kwonlyargs, given.kw_defaults, strict=True)]:
            name = argument.arg
            if name in values:
                yield f"{name}={values[name]}"
            elif default is None:
                yield f"{name}={self._fixture(name, depth, function.name)}"

    def _fixture(self, name: str, depth: int, who: str) -> str:
        function = self.fixtures.get(name)
        if function is None and name in _PLAIN_FIXTURES:
            return _PLAIN_FIXTURES[name]
        if function is None:
            raise SuiteError(self.name, f"{who} asks for {name!r}, which no fixture here gives")
        if depth > _MAX_FIXTURE_DEPTH:
            raise SuiteError(self.name, f"the fixture {name!r} needs itself")
        call = f"{name}({', '.join(self._arguments(function, {}, depth=depth + 1))})"
        yields = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function))
        return f"next({call})" if yields else call


def _set(names: list[str], item: ast.expr) -> dict[str, str]:
    """The parameters of one set, as source."""
    if isinstance(item, ast.Call) and _last_name(item) == "param":
        parts: list[ast.expr] = item.args
    elif len(names) == 1:
        parts = [item]
    elif isinstance(item, (ast.Tuple, ast.List)):
        parts = item.elts
    else:
        whole = ast.unparse(item)
        return {name: f"({whole})[{at}]" for at, name in enumerate(names)}
    return {name: ast.unparse(part) for name, part in zip(names, parts, strict=False)}


def _unittest_calls(node: ast.ClassDef) -> Iterator[str]:
    """`debug()` runs a test with its set-up, and lets what it raises through."""
    for method in node.body:
        if (
            isinstance(method, _Function)
            and method.name.startswith("test")
            and not _is_skipped(method)
        ):
            yield f"{node.name}.setUpClass()\n{node.name}({method.name!r}).debug()"


def _last_name(node: ast.expr) -> str:
    """`parametrize` of `@pytest.mark.parametrize(...)`."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_skipped(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and any(
        _last_name(decorator) in _SKIPS for decorator in node.decorator_list
    )


def _is_autouse(function: _Function) -> bool:
    return any(
        isinstance(decorator, ast.Call)
        and any(
            keyword.arg == "autouse" and getattr(keyword.value, "value", False)
            for keyword in decorator.keywords
        )
        for decorator in function.decorator_list
    )


def _replace_solution_imports(lines: list[str], tree: ast.Module) -> None:
    """Replace top-level imports of the program in place (line numbers stay)."""
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
