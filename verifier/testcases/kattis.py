"""Kattis' and ICPC's problem packages, of the legacy format and of 2023-07."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verifier.errors import SuiteError
from verifier.languages import get
from verifier.testcases.fields import MIB, mapping, memory_limit, text, time_limit
from verifier.testcases.files import (
    SUFFIXES,
    language_of,
    read,
    read_text,
    read_yaml,
)
from verifier.types import Case, Checker, Comparator, Interactor, LimitOverrides, Suite, SuiteKind

_SMALLEST = 5e-324


def load_kattis(root: Path) -> Suite:
    """The package in a folder.

    Raises:
        SuiteError: It asks for what cannot be judged here, or is broken.
    """
    row = read_yaml(root, "problem.yaml")
    version = text(row.get("problem_format_version") or "legacy", "problem_format_version")
    legacy = version == "legacy"
    kinds, custom = _kinds(row, legacy=legacy)
    for kind, why in (
        ("multi-pass", "it takes several passes"),
        ("submit-answer", "its answers are not programs"),
        ("score", "its validator gives scores of its own"),
    ):
        if kind in kinds:
            raise SuiteError("problem.yaml", f"cannot be judged here: {why}")
    limits = mapping(row.get("limits") or {}, "limits")
    own = text(row.get("validator_flags") or "", "validator_flags").split() if legacy else []
    cases, flags = _kattis_cases(root, own, with_answers=not custom)
    folder = "output_validators" if legacy else "output_validator"
    if not legacy and not custom and (root / folder).exists():
        custom = True
    overrides = LimitOverrides(
        cpu_time_s=_kattis_time(root, limits),
        memory_bytes=memory_limit(limits.get("memory"), "limits.memory", MIB),
        output_bytes=memory_limit(limits.get("output"), "limits.output", MIB),
    )
    if not custom:
        return Suite(
            SuiteKind.STDIN, tuple(cases), limits=overrides, comparator=_default_validator(flags)
        )
    source, language, files = _program(root / folder, root)
    given: dict[str, Any] = {
        "source": source,
        "language": language,
        "style": "kattis",
        "files": files,
        "args": tuple(flags),
        "limits": LimitOverrides(
            cpu_time_s=time_limit(limits.get("validation_time"), "limits.validation_time"),
            memory_bytes=memory_limit(
                limits.get("validation_memory"), "limits.validation_memory", MIB
            ),
        ),
    }
    if "interactive" in kinds:
        return Suite(
            SuiteKind.STDIN, tuple(cases), limits=overrides, interactor=Interactor(**given)
        )
    return Suite(SuiteKind.STDIN, tuple(cases), limits=overrides, checker=Checker(**given))


def _kinds(row: Mapping[str, object], *, legacy: bool) -> tuple[set[str], bool]:
    """What sort of problem it is, and whether it has a validator of its own."""
    if legacy:
        words = text(row.get("validation") or "", "validation").split() or ["default"]
        if words[0] not in ("default", "custom"):
            raise SuiteError("problem.yaml", f"validation is {words[0][:40]!r}")
        return set(words[1:]), words[0] == "custom"
    given = row.get("type") or "pass-fail"
    listed = [given] if isinstance(given, str) else _list(given, "type")
    kinds = {text(kind, "type") for kind in listed}
    return kinds, "interactive" in kinds


def _kattis_cases(
    root: Path, own: list[str], *, with_answers: bool
) -> tuple[list[Case], list[str]]:
    """Samples first, then the secret ones, each in the order of their paths."""
    cases: list[Case] = []
    found: dict[tuple[str, ...], str] = {}
    for group in ("sample", "secret"):
        for given in sorted((root / "data" / group).rglob("*.in")):
            answer = given.with_suffix(".ans")
            name = str(given.relative_to(root))
            if answer.is_file():
                expected = read(answer, root)
            elif with_answers:
                raise SuiteError(name, f"there is no {answer.name} beside it")
            else:
                expected = b""
            cases.append(Case(read(given, root), expected))
            flags = (*own, *_group_flags(given, root))
            found.setdefault(flags, name)
    if len(found) > 1:
        raise SuiteError(list(found.values())[1], "its output validator has flags of its own")
    return cases, list(next(iter(found), ()))


def _group_flags(given: Path, root: Path) -> list[str]:
    """Flags of the validator: the nearest description that has some holds."""
    descriptions = [given.with_suffix(".yaml")]
    folder = given.parent
    while folder != root:
        descriptions += [folder / "testdata.yaml", folder / "test_group.yaml"]
        folder = folder.parent
    for path in descriptions:
        if path.is_file():
            row = read_yaml(root, str(path.relative_to(root)))
            for key in ("output_validator_args", "output_validator_flags"):
                if row.get(key) is not None:
                    value = row[key]
                    parts = value.split() if isinstance(value, str) else _list(value, key)
                    return [text(part, key) for part in parts]
    return []


def _kattis_time(root: Path, limits: Mapping[str, object]) -> float | None:
    """Seconds: of the package itself, or as judges leave it in the package's folder."""
    if limits.get("time_limit") is not None:
        return time_limit(limits["time_limit"], "limits.time_limit")
    if (root / ".timelimit").is_file():
        return time_limit(read_text(root / ".timelimit", root).strip(), ".timelimit")
    if (root / "domjudge-problem.ini").is_file():
        found = re.search(
            r"^\s*timelimit\s*=\s*['\"]?([0-9.]+)",
            read_text(root / "domjudge-problem.ini", root),
            re.MULTILINE,
        )
        if found is not None:
            return time_limit(found[1], "domjudge-problem.ini")
    return None


def _default_validator(flags: list[str]) -> Comparator:
    """The default validator's flags as one of the `kattis` comparators."""
    name, tolerances = "kattis", {"absolute": 0.0, "relative": 0.0}
    rest = iter(flags)
    words = set()
    for flag in rest:
        if flag in ("case_sensitive", "space_change_sensitive"):
            words.add(flag)
        elif flag in ("float_tolerance", "float_absolute_tolerance", "float_relative_tolerance"):
            value = time_limit(next(rest, None), flag) or _SMALLEST
            kinds = tuple(tolerances) if flag == "float_tolerance" else (flag.split("_")[1],)
            tolerances |= dict.fromkeys(kinds, value)
        else:
            raise SuiteError("validator_flags", f"the default validator has no {flag[:40]!r}")
    name += "-case" * ("case_sensitive" in words) + "-space" * ("space_change_sensitive" in words)
    return Comparator(name, tolerances["absolute"], tolerances["relative"])


def _program(folder: Path, root: Path) -> tuple[bytes, str, tuple[tuple[str, bytes], ...]]:
    """The source of the one validator in a folder, its language, and its other files."""
    name = folder.name
    if not folder.is_dir():
        raise SuiteError(name, "missing")
    entries = [e for e in sorted(folder.iterdir()) if not e.name.startswith(".")]
    if len(entries) == 1 and entries[0].is_dir():
        entries = [e for e in sorted(entries[0].iterdir()) if not e.name.startswith(".")]
    files = [e for e in entries if e.is_file()]
    if any(e.name in ("build", "run") for e in files):
        raise SuiteError(name, "a validator with a build or run script")
    sources = [e for e in files if e.suffix in SUFFIXES]
    languages = {language_of(e, root) for e in sources}
    if len(languages) != 1:
        raise SuiteError(name, "no source in one known language" if sources else "no source in it")
    (language,) = languages
    if len(sources) > 1 and language in ("c", "cpp"):
        # All of them are one program; the one that is compiled has a name of its own.
        main = next((e for e in sources if e.name == get(language).source_name), None)
        others = [e for e in files if e != main]
        source = "".join(f'#include "{e.name}"\n' for e in sources if e != main).encode()
        source += read(main, root) if main is not None else b""
    else:
        first = next(
            (e for e in sources if e.stem in ("validate", "main", "__main__", "validator")),
            sources[0],
        )
        source, others = read(first, root), [e for e in files if e != first]
    return source, language, tuple((e.name, read(e, root)) for e in others)


def _list(value: object, field: str) -> list[object]:
    if not isinstance(value, list):
        raise SuiteError(field, "must be a list or a string")
    return value
