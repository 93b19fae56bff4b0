"""Test files of a framework: `{"unit_tests": {"framework", "files", ...}}`.

    framework       pytest, unittest, jest, junit, go_test or cargo_test
    files           path -> text: test files, and what they need
    solution_file   where the program goes; each framework has its own default
    tests           names of the tests that count; all of the test files where it is absent
    weights         one for each of them
    time_limit      seconds of CPU of the whole run

Each test is a case. Tests in Python are read one by one and run apart from the program, like all
ASSERT suites, where they need no more than that has; what asks for more of pytest (further files,
its own fixtures, plug-ins) is run by pytest itself, as are all tests in other languages by theirs:
then test and program share a process.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from verifier import _python
from verifier._text import to_utf8
from verifier.errors import SuiteError
from verifier.languages.unit_tests import BY_NAME, FRAMEWORKS, Mode, framework
from verifier.testcases.fields import (
    Context,
    assert_suite,
    decoded,
    mapping,
    optional_text,
    sequence,
    text,
    time_limit,
    weights,
)
from verifier.testcases.pytest_bodies import pytest_cases
from verifier.testcases.sources import SOLUTION_MODULES, checked
from verifier.testcases.test_names import UnitTest, tests_in
from verifier.types import Case, LimitOverrides, Suite, SuiteKind, Trust, UnitTests

__all__ = ["load_unit_tests"]

_FIELD = "unit_tests"
_MAX_FILES, _MAX_BYTES, _MAX_PATH = 256, 16 * 1024 * 1024, 200
_PATH = re.compile(r"(?!/)(?:(?!\.\.?(?:/|$))[^/\0\n]+/)*(?!\.\.?$)[^/\0\n]+")


def load_unit_tests(data: object, context: Context) -> Suite:
    """Read them; see the module."""
    row = mapping(data, "ground_truth")
    if row.get(_FIELD) is not None:
        row = mapping(decoded(row[_FIELD], _FIELD), _FIELD)
    name = optional_text(row, "framework") or ""
    mode = framework(name)
    if mode is None:
        near = difflib.get_close_matches(name[:40], FRAMEWORKS, n=3) or FRAMEWORKS
        raise SuiteError(
            f"{_FIELD}.framework", f"unknown framework {name[:40]!r}; known: {', '.join(near)}"
        )
    files = _files(row.get("files"))
    solution = optional_text(row, "solution_file") or mode.solution_file
    if solution and not _is_path(solution):
        raise SuiteError(f"{_FIELD}.solution_file", f"not a relative path: {solution[:60]!r}")
    if any(f"{path}/".startswith(f"{solution}/") for path in files if solution):
        raise SuiteError(f"{_FIELD}.files", f"{solution!r} is where the program goes")
    if any(solution.startswith(f"{path}/") for path in files):
        raise SuiteError(f"{_FIELD}.solution_file", f"{solution!r} is below a file")
    limits = LimitOverrides(cpu_time_s=time_limit(row.get("time_limit"), "time_limit"))
    if mode.recipe.name == "pytest" and row.get("tests") is None:
        apart = _apart(files, solution, limits, context)
        if apart is not None:
            return _weighed(apart, row)
    language = mode.language
    if mode.recipe.name == "jest" and solution.endswith((".ts", ".tsx", ".mts", ".cts")):
        language = "typescript"
    suite = Suite(
        SuiteKind.UNIT_TEST,
        tuple(
            Case(test=test.pattern or None, name=test.shown)
            for test in _chosen(mode, files, solution, row.get("tests"), context)
        ),
        limits=limits,
        trust=Trust.IN_PROCESS,
        unit_tests=UnitTests(
            mode.recipe.name,
            tuple(sorted((path, to_utf8(content)) for path, content in files.items())),
            solution,
            language,
        ),
    )
    return _weighed(suite, row)


def _weighed(suite: Suite, row: Mapping[str, object]) -> Suite:
    if row.get("weights") is None:
        return suite
    given = weights(row["weights"], len(suite.cases))
    cases = (
        dataclasses.replace(case, weight=weight)
        for case, weight in zip(suite.cases, given, strict=True)
    )
    return dataclasses.replace(suite, cases=tuple(cases))


def _files(given: object) -> dict[str, str]:
    field = f"{_FIELD}.files"
    if given is None:
        raise SuiteError(field, "missing")
    files = mapping(decoded(given, field), field)
    if not files:
        raise SuiteError(field, "no files")
    if len(files) > _MAX_FILES:
        raise SuiteError(field, f"{len(files)} files are over the limit of {_MAX_FILES}")
    found: dict[str, str] = {}
    for path, content in files.items():
        if not isinstance(path, str) or not _is_path(path):
            raise SuiteError(field, f"not a relative path: {str(path)[:60]!r}")
        found[path] = text(content, f"{field}[{path!r}]")
    if sum(map(len, found.values())) > _MAX_BYTES:
        raise SuiteError(field, f"over {_MAX_BYTES} characters together")
    folders = {path[:at] for path in found for at, c in enumerate(path) if c == "/"}
    if clash := folders & found.keys():
        raise SuiteError(field, f"{min(clash)[:60]!r} is a file and a folder")
    return found


def _is_path(path: str) -> bool:
    return (
        len(path.encode("utf-8", "replace")) <= _MAX_PATH
        and path.isprintable()
        and bool(_PATH.fullmatch(path))
    )


def _chosen(
    mode: Mode, files: Mapping[str, str], solution: str, wanted: object, context: Context
) -> Sequence[UnitTest]:
    """The tests that count: those of the files, or those that the data names."""
    name = mode.recipe.name
    sources = {path: data for path, data in files.items() if path.endswith(mode.suffixes)}
    listed = tests_in(name, sources)
    if name == "go_test":
        folder = solution.rpartition("/")[0]
        if away := [t.file for t in listed if t.file.rpartition("/")[0] != folder]:
            raise SuiteError(
                f"{_FIELD}.files", f"{away[0]!r} is not in the folder of the solution_file"
            )
    if wanted is None:
        if not listed:
            raise SuiteError(f"{_FIELD}.files", f"no test of {name} is in them")
        return _bounded(listed, context)
    known = {test.shown: test for test in listed}
    chosen = []
    field = f"{_FIELD}.tests"
    for index, item in enumerate(sequence(wanted, field, context.max_cases)):
        shown = text(item, f"{field}[{index}]")
        if shown not in known and name in BY_NAME:
            raise SuiteError(f"{field}[{index}]", f"{shown[:60]!r} is not in the files")
        chosen.append(known.get(shown) or UnitTest("", shown, shown))
    if not chosen:
        raise SuiteError(field, "no tests")
    return chosen


def _bounded(listed: Sequence[UnitTest], context: Context) -> Sequence[UnitTest]:
    if len(listed) > context.max_cases:
        raise SuiteError(
            f"{_FIELD}.files", f"{len(listed)} tests are over the limit of {context.max_cases}"
        )
    return listed


# -- Python, apart from the program


def _apart(
    files: Mapping[str, str], solution: str, limits: LimitOverrides, context: Context
) -> Suite | None:
    """The tests one by one; None where they need pytest itself."""
    module = solution.removesuffix(".py")
    sources: list[str] = []
    names: list[str] = []
    for path, content in files.items():
        if not path.endswith(".py") or "/" in path or "/" in solution:
            return None
        if not tests_in("pytest", {path: content}):
            return None
        try:
            body = _imports_solution(content, module)
            cases = body and [checked(case, path) for case in pytest_cases(body, path)]
        except SuiteError:
            return None
        if not cases:
            return None
        sources += cases
        names += [f"{path}::{_called(case)}" for case in cases]
    names = _numbered(names)
    _bounded([UnitTest("", name, name) for name in names], context)
    suite = assert_suite(sources, limits=limits)
    named = zip(suite.cases, names, strict=True)
    return dataclasses.replace(
        suite, cases=tuple(dataclasses.replace(case, name=name) for case, name in named)
    )


def _imports_solution(source: str, module: str) -> str | None:
    """The source with the program's module by a name that is known.

    None where an import is inside of something, or of a module that is neither the program nor
    the sandbox's.
    """
    tree = _python.parse(source) if len(source) <= _python.MAX_PARSE_CHARS else None
    if tree is None:
        return None
    if (
        any(module in _imported(node) for node in ast.walk(tree) if node not in tree.body)
        or not module.isidentifier()
    ):
        return None
    if module in SOLUTION_MODULES:
        return source
    source = re.sub(rf"(?m)^from\s+{module}\s+import\b", "from solution import", source)
    source = re.sub(rf"(?m)^import\s+{module}\s+as\b", "import solution as", source)
    return re.sub(rf"(?m)^import\s+{module}[ \t]*$", f"import solution as {module}", source)


def _imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    return set()


def _called(case: str) -> str:
    """What a test's source calls in its last lines, as pytest would name it."""
    lines = case.rstrip().rsplit("\n", 8)
    call = lines[-1].strip()
    if found := re.fullmatch(r"(\w+)\('(\w+)'\)\.debug\(\)", call):
        return f"{found[1]}::{found[2]}"
    for line in reversed(lines):
        if made := re.fullmatch(r"_test = (\w+)\(\)", line.strip()):
            call = call.replace("_test.", f"{made[1]}::", 1)
            break
    return call.removeprefix("__import__('asyncio').run(").partition("(")[0]


def _numbered(names: Sequence[str]) -> list[str]:
    """The sets of parameters of one test get a number each."""
    many, seen = Counter(names), Counter[str]()
    found = []
    for name in names:
        found.append(f"{name}[{seen[name]}]" if many[name] > 1 else name)
        seen[name] += 1
    return found
