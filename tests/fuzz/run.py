"""Fuzz a parser with atheris: a search led by what of the parser's code an input reaches.

    python tests/fuzz/run.py TARGET [--seconds N | --runs N] [--seed N] [--max-len N] [--pump N]
                                    [--corpus FOLDER] [--findings FOLDER] [INPUT ...]

The search begins with the target's own seeds and what is in the corpus folder, where it also puts
what it finds on its way. It ends at the first input that makes a parser raise what is not its own
error, or take more CPU time than is linear in the input's size with room to spare; that input is
written to the folder for findings (here, if not told) as crash-*. With INPUTs, only these are run.

Quadratic time hides in small inputs. So one input in sixteen is pumped: a part of it is repeated,
up to `--pump` bytes.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import atheris

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in (HERE / "targets").glob("*.py"))

# What an input may cost. Instrumented, a parser takes a few microseconds for a byte at most.
ALLOWED_S = 5.0
ALLOWED_S_PER_BYTE = 1e-4
PUMP_EVERY = 16


class TooSlowError(Exception):
    """A parser took more than linear time, as it seems."""


def pumped(data: bytes, size: int) -> bytes:
    """One input in sixteen with a part of it repeated: its last bytes choose whether, and which."""
    if len(data) < 4 or data[-1] % PUMP_EVERY:
        return data
    start, length = data[-2] % len(data), 1 + data[-3] % 16
    part = data[start : start + length]
    return data[:start] + part * (size // len(part)) + data[start + length : -3]


def watched(target: Callable[[bytes], None], pump: int) -> Callable[[bytes], None]:
    """The target, with an eye on the time it takes."""

    def run(data: bytes) -> None:
        data = pumped(data, pump)
        start = time.process_time()
        target(data)
        spent = time.process_time() - start
        if spent > ALLOWED_S + ALLOWED_S_PER_BYTE * len(data):
            raise TooSlowError(f"{spent:.1f} s for {len(data)} bytes")

    return run


def search(module: ModuleType, options: argparse.Namespace) -> int:
    """The exit code of libFuzzer, which runs in a child: it does not return."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = options.corpus or Path(folder, "found")
        for path in (Path(folder, "seeds"), corpus, options.findings):
            path.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(module.seeds()):
            Path(folder, "seeds", f"{number:05}").write_bytes(seed)
        words = (f'"{"".join(f"{chr(92)}x{code:02x}" for code in word)}"' for word in module.WORDS)
        Path(folder, "words").write_text("\n".join(words))
        arguments = [
            sys.argv[0],
            f"-max_total_time={options.seconds}",
            f"-runs={options.runs}",
            f"-seed={options.seed}",
            f"-max_len={options.max_len}",
            f"-dict={folder}/words",
            f"-artifact_prefix={options.findings}/",
            "-timeout=60",
            "-len_control=10",
            "-rss_limit_mb=4096",
            str(corpus),
            str(Path(folder, "seeds")),
        ]
        pid = os.fork()
        if pid == 0:
            atheris.Setup(arguments, watched(module.target, options.pump))
            atheris.Fuzz()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    """Read the command line, and search."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("inputs", nargs="*", type=Path)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-len", type=int, default=4096)
    parser.add_argument("--pump", type=int, default=100_000)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--findings", type=Path, default=Path())
    options = parser.parse_args()
    sys.path.insert(0, str(HERE.parents[1]))
    with atheris.instrument_imports(include=["verifier"]):
        module = importlib.import_module(f"tests.fuzz.targets.{options.target}")
    if options.inputs:
        for path in options.inputs:
            watched(module.target, options.pump)(path.read_bytes())
        return
    sys.exit(search(module, options))


if __name__ == "__main__":
    main()
