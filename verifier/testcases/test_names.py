"""Which tests there are in the files of a test suite, read without running them.

A program that ends the run early cannot take tests away that are known before. What is read are the
usual ways of writing tests down. Where a name is made by code (a table of cases, a template), the
test is known by a pattern; a test that is made without any name in sight is part of one pattern for
all of these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from verifier import _python
from verifier.testcases.jest_names import jest_tests

__all__ = ["UnitTest", "tests_in"]

_MAX_CHARS = 500_000


@dataclass(frozen=True, slots=True)
class UnitTest:
    """One test.

    Attributes:
        file: Its file.
        name: As its framework calls it within that file.
        shown: Its name among all tests.
        pattern: Of the names that it is reported by, where these are made by code (a regular
            expression for the whole of `shown`); "" where it is reported as it is shown.
    """

    file: str
    name: str
    shown: str
    pattern: str = ""


def tests_in(framework: str, files: dict[str, str]) -> list[UnitTest]:
    """All tests of these files, in order.

    Tests that are marked to be skipped are left out: no program could pass them.

    Args:
        framework: Name of a mode.
        files: Path and content; those that have no tests are fine.
    """
    found: list[UnitTest] = []
    read = _READERS[framework]
    listed = {
        file: list(dict.fromkeys(read(text)))
        for file, text in files.items()
        if len(text) <= _MAX_CHARS
    }
    several = sum(map(bool, listed.values())) > 1
    for file, tests in listed.items():
        before = _prefix(framework, file, several=several)
        for name, pattern in tests:
            whole = f"{re.escape(before)}{pattern}" if pattern else ""
            found.append(UnitTest(file, name, before + name, whole))
    return list({test.shown: test for test in found}.values())


def _prefix(framework: str, file: str, *, several: bool) -> str:
    if framework == "pytest":
        return f"{file}::"
    if framework == "jest" and several:
        return re.sub(r"\.([cm]?[jt]s|[jt]sx)$", ".js", file) + "::"
    if framework == "cargo_test" and file.startswith("tests/"):
        return file.rpartition("/")[2].removesuffix(".rs") + "::"
    return ""


_Found = Iterator[tuple[str, str]]

# -- Go, Rust, Java: what is no code is taken out first; each alternative is decided by its start

_GO_NOISE = re.compile(
    r'/\*(?:[^*]|\*(?!/))*(?:\*/)?|//[^\n]*|`[^`]*`?|"(?:[^"\\\n]|\\.)*"?|' r"'(?:[^'\\\n]|\\.)+'"
)
_GO_TEST = re.compile(r"^func\s+(Test(?![a-z])\w*)\s*\(\s*\w+\s+\*\s*testing\.T\s*\)", re.MULTILINE)


def _go(text: str) -> _Found:
    for match in _GO_TEST.finditer(_GO_NOISE.sub(" ", text)):
        yield match[1], ""


_RUST_NOISE = re.compile(
    r'/\*(?:[^*]|\*(?!/))*(?:\*/)?|//[^\n]*|\br(#+)"(?s:.*?)"\1|\br"[^"]*"|'
    r"""b?"(?:[^"\\]|\\(?s:.))*"?|b?'(?:\\[^'\n]+|[^'\\\n])'"""
)
_RUST_TOKEN = re.compile(
    r"#!?\[\s*(?P<attribute>[\w:]+)[^\]]*\]|\bmod\s+(?P<mod>\w+)\s*\{|\bfn\s+(?P<fn>\w+)|[{};]"
)


def _rust(text: str) -> _Found:
    modules: list[tuple[str, int]] = []
    depth, attributes = 0, set[str]()
    for match in _RUST_TOKEN.finditer(_RUST_NOISE.sub(" ", text)):
        if match["attribute"]:
            attributes.add(match["attribute"])
            continue
        if match["mod"]:
            depth += 1
            modules.append((match["mod"], depth))
        elif match["fn"] and "test" in attributes and "ignore" not in attributes:
            yield "::".join([*(name for name, _ in modules), match["fn"]]), ""
        elif match[0] == "{":
            depth += 1
        elif match[0] == "}":
            if modules and modules[-1][1] == depth:
                modules.pop()
            depth -= 1
        attributes.clear()


_JAVA_NOISE = re.compile(
    r'/\*(?:[^*]|\*(?!/))*(?:\*/)?|//[^\n]*|"""(?:[^"\\]|\\.|"(?!""))*(?:""")?|"(?:[^"\\\n]|\\.)*"?|'
    r"'(?:[^'\\\n]|\\.)*'?",
    re.DOTALL,
)
_JAVA_TOKEN = re.compile(
    r"@(?P<annotation>[\w.]+)(?:\s*\((?:[^()]|\([^()]*\))*\))?|"
    r"(?P<abstract>\babstract\s+)?\b(?:class|interface|record|enum)\s+(?P<type>\w+)"
    r"(?P<parents>[^{;]*)|\b(?P<method>\w+)\s*\(|[{};]"
)
_JAVA_TESTS = {"Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate"}
_JAVA_SKIPS = {"Disabled", "Ignore"}


@dataclass(frozen=True, slots=True)
class _Class:
    """A Java class that is open: its depth, whether its tests are left out, whether JUnit 3's."""

    name: str
    depth: int
    skipped: bool
    old: bool


def _java(text: str) -> _Found:
    code = _JAVA_NOISE.sub(" ", text)
    package = re.search(r"^\s*package\s+([\w.]+)\s*;", code, re.MULTILINE)
    before = f"{package[1]}." if package else ""
    classes: list[_Class] = []
    depth, annotations = 0, set[str]()
    for match in _JAVA_TOKEN.finditer(code):
        if match["annotation"]:
            annotations.add(match["annotation"].rpartition(".")[2])
            continue
        inner = classes[-1] if classes else None
        if match["type"]:
            skipped = bool(match["abstract"] or annotations & _JAVA_SKIPS)
            old = bool(re.search(r"\bTestCase\b", match["parents"]))
            skipped = skipped or (inner is not None and inner.skipped)
            classes.append(_Class(match["type"], depth + 1, skipped, old))
        elif match["method"]:
            if inner is None or inner.depth != depth:
                continue
            old = inner.old and match["method"].startswith("test")
            skipped = inner.skipped or bool(annotations & _JAVA_SKIPS)
            if (old or annotations & _JAVA_TESTS) and not skipped:
                yield before + "$".join(one.name for one in classes) + "." + match["method"], ""
        elif match[0] == "{":
            depth += 1
        elif match[0] == "}":
            if inner is not None and inner.depth == depth:
                classes.pop()
            depth -= 1
        annotations.clear()


# -- Python


def _python_tests(text: str) -> _Found:
    tree = _python.parse(text) if len(text) <= _python.MAX_PARSE_CHARS else None
    for node in tree.body if tree is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _python_test(node, "", node.name.startswith("test"))
        elif isinstance(node, ast.ClassDef) and not _is_skipped(node):
            old = any(_last(base).endswith("TestCase") for base in node.bases)
            if old or node.name.startswith("Test"):
                for inner in node.body:
                    if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        named = inner.name.startswith("test")
                        yield from _python_test(inner, f"{node.name}::", named)


def _python_test(node: ast.FunctionDef | ast.AsyncFunctionDef, before: str, named: bool) -> _Found:
    marks = [_last(decorator) for decorator in node.decorator_list]
    if not named or _is_skipped(node) or "fixture" in marks:
        return
    name = before + node.name
    yield name, rf"{re.escape(name)}\[.*\]" if "parametrize" in marks else ""


def _is_skipped(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(_last(decorator) == "skip" for decorator in node.decorator_list)


def _last(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


_READERS: dict[str, Callable[[str], _Found]] = {
    "pytest": _python_tests,
    "jest": jest_tests,
    "junit": _java,
    "go_test": _go,
    "cargo_test": _rust,
}
