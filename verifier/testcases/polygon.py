"""Polygon's problem packages, and folders that look like them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from verifier.errors import SuiteError
from verifier.testcases.fields import memory_limit, time_limit
from verifier.testcases.files import SUFFIXES, is_inside, language_of, read
from verifier.types import Case, Checker, Interactor, LimitOverrides, Suite, SuiteKind

_HEADERS = (".h", ".hpp", ".hh")
_ANSWERS = (".a", ".ans", ".out")


def load_polygon(root: Path) -> Suite:
    """The full package in a folder.

    Raises:
        SuiteError: It asks for what cannot be judged here, or is broken.
    """
    tree = _xml(root / "problem.xml", root)
    judging = tree.find("judging")
    testset = None if judging is None else judging.find("testset[@name='tests']")
    if judging is not None and testset is None:
        testset = judging.find("testset")
    if judging is None or testset is None:
        raise SuiteError("problem.xml", "has no testset")
    for stream in ("input-file", "output-file"):
        if judging.get(stream):
            raise SuiteError(
                "problem.xml", f"{stream} is {judging.get(stream)!r}: programs have to use files"
            )
    count = _whole(testset.findtext("test-count"), "test-count")
    patterns = [
        testset.findtext(f"{name}-path-pattern") or f"tests/%02d{end}"
        for name, end in (("input", ""), ("answer", ".a"))
    ]
    points = [test.get("points") for test in testset.iterfind("tests/test")]
    weights = [1.0] * count
    if len(points) == count and any(points):
        weights = [time_limit(p or 0, "points") or 0.0 for p in points]
    cases = [
        Case(
            _numbered(root, patterns[0], i + 1),
            _numbered(root, patterns[1], i + 1),
            weight=weights[i],
        )
        for i in range(count)
    ]
    limits = LimitOverrides(
        cpu_time_s=(time_limit(testset.findtext("time-limit"), "time-limit") or 0) / 1000 or None,
        memory_bytes=memory_limit(testset.findtext("memory-limit"), "memory-limit", 1),
    )
    found = {name: tree.find(f"assets/{name}/source") for name in ("checker", "interactor")}
    sources = {
        name: _inside(root, node.get("path") or "")
        for name, node in found.items()
        if node is not None
    }
    return _with_programs(root, cases, limits, sources)


def load_tests_folder(root: Path) -> Suite:
    """A folder with `tests`, and perhaps a checker and an interactor, but no description.

    Raises:
        SuiteError: A test has no answer.
    """
    cases = []
    for given in sorted((root / "tests").iterdir(), key=_in_numbers):
        if given.suffix in _ANSWERS or not given.is_file():
            continue
        stem = given.with_suffix("") if given.suffix == ".in" else given
        answer = next(
            (a for end in _ANSWERS if (a := stem.with_name(stem.name + end)).is_file()), None
        )
        if answer is None:
            raise SuiteError(str(given.relative_to(root)), "there is no answer beside it")
        cases.append(Case(read(given, root), read(answer, root)))
    sources: dict[str, Path] = {}
    for role, name in (("checker", "check"), ("interactor", "interactor")):
        for folder in (root, root / "files"):
            for end in SUFFIXES:
                if (folder / (name + end)).is_file():
                    sources.setdefault(role, folder / (name + end))
    return _with_programs(root, cases, LimitOverrides(), sources)


def _with_programs(
    root: Path, cases: list[Case], limits: LimitOverrides, sources: Mapping[str, Path]
) -> Suite:
    """Checker and interactor by testlib's convention, with the headers that lie beside them."""
    given: dict[str, dict[str, Any]] = {}
    for role, path in sources.items():
        files = {
            header.name: read(header, root)
            for folder in (root, root / "files", path.parent)
            if folder.is_dir()
            for header in sorted(folder.iterdir())
            if header.suffix in _HEADERS and header.is_file()
        }
        given[role] = {
            "source": read(path, root),
            "language": language_of(path, root),
            "style": "testlib",
            "files": tuple(sorted(files.items())),
        }
    interactor = given.get("interactor")
    checker = given.get("checker")
    return Suite(
        SuiteKind.STDIN,
        tuple(cases),
        limits=limits,
        checker=None if checker is None else Checker(**checker),
        interactor=None if interactor is None else Interactor(**interactor),
    )


def _numbered(root: Path, pattern: str, number: int) -> bytes:
    """A file of a printf pattern with one number in it."""
    name = re.sub(r"%(0?)(\d{0,2})d", lambda m: f"{number:{m[1]}{m[2]}d}", pattern, count=1)
    path = _inside(root, name)
    if not path.is_file():
        raise SuiteError(name[:80], "missing: is this Polygon's full package, or was doall.sh run?")
    return read(path, root)


def _inside(root: Path, name: str) -> Path:
    """A file that the package names, which has to be in it."""
    path = root / name
    if not name or not is_inside(path, root):
        raise SuiteError("problem.xml", f"names a file outside of the package: {name[:80]!r}")
    return path


def _in_numbers(path: Path) -> list[tuple[int, str]]:
    """2 before 10."""
    return [(int(d or 0), w) for d, w in re.findall(r"(\d{0,18})(\D*)", path.name)]


def _whole(value: str | None, field: str) -> int:
    if value is None or not re.fullmatch(r"\d{1,7}", value.strip()):
        raise SuiteError("problem.xml", f"{field} is {str(value)[:40]!r}")
    return int(value)


def _xml(path: Path, root: Path) -> ET.Element:
    data = read(path, root)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise SuiteError(path.name, "declares a document type")
    try:
        return ET.fromstring(data)  # noqa: S314 - without entities, which the line above sees to
    except (ET.ParseError, ValueError) as e:
        raise SuiteError(path.name, f"not XML: {e}") from None
