"""The modes. Debian 12 has pytest 7.2, jest 29.3, JUnit 5.9 and 4.13, Go 1.19 and Rust 1.63."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from verifier.languages import jar
from verifier.languages.base import BIG_COMPILE_LIMITS, COMPILE_LIMITS, Recipe
from verifier.languages.go import GO
from verifier.languages.java import JAVA
from verifier.languages.javascript import HEAP_MARKS
from verifier.languages.rust import RUST
from verifier.types import Harness

_PYTHON = "/usr/bin/python3"
_JUNIT = ":".join(
    f"/usr/share/java/{name}.jar"
    for name in (
        "junit-platform-console",
        "junit-platform-launcher",
        "junit-platform-engine",
        "junit-platform-commons",
        "junit-platform-reporting",
        "junit-jupiter-api",
        "junit-jupiter-engine",
        "junit-jupiter-params",
        "junit-vintage-engine",
        "junit4",
        "hamcrest",
        "opentest4j",
        "opentest4j-reporting-events",
        "apiguardian-api",
        "picocli",
        "univocity-parsers",
    )
)


@dataclass(frozen=True, slots=True)
class Mode:
    """One framework.

    Attributes:
        recipe: How its tests are compiled and run. The last words of the run's command are the
            engine's: what is tested.
        language: What programs and tests are written in.
        solution_file: Where the program goes, where the data does not say; "" follows its source.
        beside: Files of `jail/` that it needs.
        suffixes: Of the names of files that tests are looked for in.
    """

    recipe: Recipe
    language: str
    solution_file: str
    beside: tuple[str, ...]
    suffixes: tuple[str, ...]


def _quietly(command: str) -> tuple[str, ...]:
    """A version command that fails in silence, which tells that there is no such thing."""
    return ("sh", "-c", f"{{ {command}; }} 2>/dev/null")


def _recipe(name: str, base: Recipe | None = None, **fields: object) -> Recipe:
    """The fields that all modes share, over those of a language's recipe."""
    common: dict[str, object] = {
        "name": name,
        "aliases": (),
        "source_name": "program",
        "run_harness": Harness.EXEC,
        "compile_argv": (_PYTHON, "-I", "build.py", name),
        "self_test": "",
        "sandbox_fusion": (name,),
        "written_as": "",
        "by_tag": False,
        "notes": "",
        **fields,
    }
    common["run_argv"] = (_PYTHON, "-I", "/program/run.py", *common["run_argv"])  # type: ignore[misc]
    common["outputs"] = ("run.py", "work.tar", *common["outputs"])  # type: ignore[misc]
    if base is not None:
        # Not `replace`: a recipe's class may name files after their source.
        known = {field.name: getattr(base, field.name) for field in dataclasses.fields(Recipe)}
        common = known | common
    return Recipe(**common)  # type: ignore[arg-type]


PYTEST = Mode(
    _recipe(
        "pytest",
        title="pytest",
        family="python",
        packages=("python3-pytest",),
        run_argv=(_PYTHON, "-B", "-m", "pytest", "-p", "pytest_report", "-p", "no:cacheprovider"),
        outputs=("pytest_report.py",),
        version_argv=_quietly("pytest-3 --version"),
        needs=("pytest-3",),
        env=(("PYTHONPATH", "/program"),),
        stack_overflow="",
    ),
    language="python",
    solution_file="solution.py",
    beside=("pytest_report.py",),
    suffixes=(".py",),
)

JEST = Mode(
    _recipe(
        "jest",
        title="jest",
        family="web-testing",
        packages=("jest", "node-typescript"),
        run_argv=(
            *("node", "--max-old-space-size={heap_mb}", "/program/jest.js", "-i"),
            *("--config", "/program/jest.json", "--runTestsByPath"),
        ),
        outputs=("jest.js", "jest.json", "reporter.js", "guard.js"),
        version_argv=_quietly(
            r"""sed -n 's/.*"version": "\(.*\)".*/jest \1/p' """
            "/usr/share/nodejs/jest-cli/package.json"
        ),
        needs=("node", "jest", "tsc"),
        env=(("NODE_PATH", "/usr/share/nodejs"), ("CI", "true"), ("FORCE_COLOR", "0")),
        memory_marks=HEAP_MARKS,
        extra_processes=16,
    ),
    language="javascript",
    solution_file="solution.js",
    beside=("transpile.js", "jest.js", "jest.json", "reporter.js", "guard.js"),
    suffixes=(".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts"),
)

JUNIT = Mode(
    _recipe(
        "junit",
        base=JAVA,
        title="JUnit",
        packages=("default-jdk-headless", "junit4", "junit5"),
        run_argv=(
            *("java", "-Xmx{heap_mb}m", "-Xss64m", *jar.QUICK_JVM, "-ea", "-cp"),
            f"{_JUNIT}:/program/classes.jar",
            *("org.junit.platform.console.ConsoleLauncher", "--disable-banner"),
            *("--disable-ansi-colors", "--fail-if-no-tests"),
        ),
        outputs=("classes.jar",),
        version_argv=_quietly(
            "for f in /usr/share/java/junit-jupiter-[0-9]*.jar; do "
            'test -e "$f" && f=${f##*-} && echo "JUnit ${f%.jar}"; done'
        ),
        needs=("java", "javac"),
        env=(("JUNIT_PATH", _JUNIT),),
        compile_limits=BIG_COMPILE_LIMITS,
    ),
    language="java",
    solution_file="",
    beside=("Report.java",),
    suffixes=(".java",),
)

GO_TEST = Mode(
    _recipe(
        "go_test",
        base=GO,
        title="go test",
        run_argv=("/program/bin/main",),
        outputs=("bin/*",),
        env=(
            *(pair for pair in GO.env if pair[0] not in ("GO111MODULE", "GOFLAGS")),
            ("GO111MODULE", "on"),
            ("GOFLAGS", "-mod=mod"),
        ),
        compile_limits=COMPILE_LIMITS,
    ),
    language="go",
    solution_file="solution.go",
    beside=(),
    suffixes=("_test.go",),
)

CARGO_TEST = Mode(
    _recipe(
        "cargo_test",
        base=RUST,
        title="cargo test",
        sandbox_fusion=(),
        run_argv=(),
        outputs=("bin/*",),
        compile_limits=BIG_COMPILE_LIMITS,
    ),
    language="rust",
    solution_file="src/lib.rs",
    beside=(),
    suffixes=(".rs",),
)

MODES: dict[str, Mode] = {
    mode.recipe.name: mode for mode in (PYTEST, JEST, JUNIT, GO_TEST, CARGO_TEST)
}
