"""Cold and warm starts of languages, side by side: CPU seconds of the compiler and of a run.

    python -m benchmarks.starts [--starts FOLDER] [--rounds N] [LANGUAGE...]

Cold is the toolchain as Debian starts it by default; warm is as the recipe starts it, with what
`sandbox_images/finish.sh --starts FOLDER` makes. The program is the recipe's self-test. Rounds are
interleaved (cold, warm, cold, warm), each number is a median, and CPU time is measured, which other
work on the machine changes less than the wall clock. No sandbox is in between: what it adds is the
same on both sides. Python's warm run is not here: its interpreter is forked (docs/performance.md).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import children
from verifier.languages import RECIPES, Recipe
from verifier.languages.base import SELF_TEST_STDIN, STARTS
from verifier.languages.jar import QUICK_JVM
from verifier.types import Limits

# What the recipes add to the toolchain's own command. Whatever is not here is the same in both.
ADDED = (*QUICK_JVM, *(f"-J{flag}" for flag in QUICK_JVM))
LIMITS = Limits()


def _cpu_s(argv: Sequence[str], home: Path, recipe: Recipe) -> float:
    env = dict(recipe.run_env(LIMITS))
    return children.cpu_s(argv, stdin=SELF_TEST_STDIN, cwd=home, env=env)


def measure(recipe: Recipe, starts: str, rounds: int) -> tuple[float, float, float, float]:
    """Medians of compile cold, compile warm, run cold, run warm."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for _ in range(rounds):
            for kind, place in (("cold", "/nonexistent"), ("warm", starts)):
                for path in home.iterdir():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                (home / recipe.file_name(recipe.self_test.encode())).write_text(recipe.self_test)
                for step, argv in (("compile", recipe.compile_argv), ("run", recipe.run_argv)):
                    command = [
                        word.replace(STARTS, place).replace("/program", folder)
                        for word in argv
                        if kind == "warm" or word not in ADDED
                    ]
                    command = [word.replace("{heap_mb}", "768") for word in command]
                    used = _cpu_s(command, home, recipe) if command else 0.0
                    found.setdefault(f"{step} {kind}", []).append(used)
    compile_cold, compile_warm, run_cold, run_warm = (
        statistics.median(found[f"{step} {kind}"])
        for step in ("compile", "run")
        for kind in ("cold", "warm")
    )
    return compile_cold, compile_warm, run_cold, run_warm


def row(title: str, numbers: tuple[float, float, float, float]) -> str:
    """A line of the table."""
    cells = [title]
    for cold, warm in (numbers[:2], numbers[2:]):
        ratio = f"{warm / cold:.2f}" if cold else "-"
        cells += [f"{cold:.2f}", f"{warm:.2f}", ratio]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Cold and warm starts, side by side.")
    parser.add_argument("--starts", default=STARTS, help="folder that finish.sh --starts made")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("languages", nargs="*")
    given = parser.parse_args()
    print("| language | compile cold, s | warm, s | ratio | run cold, s | warm, s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name in given.languages or RECIPES:
        recipe = RECIPES[name]
        missing = [tool for tool in recipe.programs if shutil.which(tool) is None]
        if not missing and not recipe.written_as:
            print(row(recipe.title, measure(recipe, given.starts, given.rounds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
