"""CodeI/O of reasoning-gym, read from the installed package without importing it.

An entry is a reference (`main_solution`) and a generator of its inputs. It becomes a row, with the
reference as the response, if a rule that is all code lets it in:

- the code parses and imports nothing beyond the standard library, by the syntax tree;
- run twice with the same seed, in the sandbox, it gives the same inputs and outputs. The second
  time, what a program must not depend on is another: the hash seed, the state of `random`, the day;
- inputs and outputs are JSON, as a case has them.

All else is counted under the reason.
"""

from __future__ import annotations

import ast
import asyncio
import gzip
import importlib.util
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from verifier import _python
from verifier.engine import Engine
from verifier.types import LimitOverrides, Program, RunTask, Status

FILES = ("codeio.jsonl.gz", "codeio-hq.jsonl.gz")
INSTALL = "pip install --no-deps reasoning-gym==0.1.25"
INSIDE = (Path(__file__).parent / "inside.py").read_text(encoding="utf-8")
# For all cases of an entry together, where a case that is scored has the default of 10 s.
LIMITS = LimitOverrides(cpu_time_s=10.0, output_bytes=4 * 1024 * 1024)
SEED = 1
# A slot has 0.
OTHER_HASH_SEED = "PYTHONHASHSEED=1"


@dataclass(frozen=True, slots=True)
class Entry:
    """One of CodeI/O.

    Attributes:
        name: The file's name and the entry's place in it, from 0.
        reference: Source that defines `main_solution`.
        generator: Source that defines `generate_inputs`, or `generate_input`.
    """

    name: str
    reference: str
    generator: str


@dataclass(frozen=True, slots=True)
class Observed:
    """What the sandbox said of an entry: cases (arguments, output), or the reason for none."""

    cases: tuple[tuple[str, str], ...] = ()
    reason: str = ""


def package() -> Path:
    """The folder of the data.

    Raises:
        FileNotFoundError: The package is not installed; names the command.
    """
    spec = importlib.util.find_spec("reasoning_gym")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"reasoning-gym is not installed: {INSTALL}")
    return Path(spec.submodule_search_locations[0]) / "data"


def read(folder: Path) -> Iterator[Entry]:
    """All entries of both files: JSON Lines, and one array."""
    for file in FILES:
        with gzip.open(folder / file, "rt", encoding="utf-8") as stream:
            text = stream.read()
        lines = filter(str.strip, text.split("\n"))
        rows = json.loads(text) if text.startswith("[") else map(json.loads, lines)
        for number, row in enumerate(rows):
            name = f"{file.partition('.')[0]}/{number}"
            yield Entry(name, row["code_sample"], row["input_generator"])


def refused(entry: Entry) -> str:
    """Why an entry is left out by its text alone; "" if it is not."""
    for source in (entry.reference, entry.generator):
        tree = _python.parse(source)
        if tree is None:
            return "does not parse"
        if not _modules(tree) <= sys.stdlib_module_names:
            return "imports beyond the standard library"
    return ""


def _modules(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative one has no module of the standard library.
            found.add("." if node.level else (node.module or "").partition(".")[0])
    return found


def chosen(entries: Iterable[Entry], left_out: Counter[str]) -> Iterator[Entry]:
    """Those that may be run, each code once."""
    seen = set()
    for entry in entries:
        # The files name the same generator in two ways.
        key = (entry.reference, entry.generator.replace("generate_inputs", "generate_input"))
        reason = "the same code is in both files" if key in seen else refused(entry)
        seen.add(key)
        if reason:
            left_out[reason] += 1
        else:
            yield entry


async def observe(engine: Engine, entry: Entry, cases: int) -> Observed:
    """Let the generator make inputs, the reference answer them, and both do it again.

    The reference answers in a run of its own: what a generator leaves in files is no input.

    Raises:
        InfraError: The sandbox could not run it.
    """
    made = await _run(engine, entry, cases)
    if isinstance(made, str):
        return Observed(reason=made)
    inputs, _ = made
    first = await _run(engine, entry, cases, inputs=inputs)
    if isinstance(first, str):
        return Observed(reason=first)
    outputs = first[1]
    if not any(outputs):
        return Observed(reason="the reference raises on every input")
    again = await _run(engine, entry, cases, again=True)
    if isinstance(again, str):
        return Observed(reason=again)
    if again[0] != inputs:
        return Observed(reason="inputs differ between two runs")
    if again[1] != outputs:
        return Observed(reason="outputs differ between two runs")
    return Observed(tuple((i, o) for i, o in zip(inputs, outputs, strict=True) if o is not None))


async def _run(
    engine: Engine,
    entry: Entry,
    cases: int,
    *,
    inputs: Sequence[str] | None = None,
    again: bool = False,
) -> tuple[list[str], list[str | None]] | str:
    """Inputs and outputs, or the reason for none.

    Inputs that are given are answered; else they are made, and answered only `again`, when all is
    done in another environment.
    """
    job = {
        "reference": entry.reference,
        "generator": entry.generator,
        "seed": SEED,
        "cases": cases,
        "inputs": inputs,
        "answer": again or inputs is not None,
        "random": int(again),
        "another_day": again,
    }
    # A program forks the slot's interpreter, as in scoring; another environment needs one anew.
    argv = ("/usr/bin/env", OTHER_HASH_SEED, "python3", "-s", "-c", INSIDE) if again else ()
    program = None if again else Program("python", INSIDE.encode())
    done = await engine.run(
        RunTask(program=program, argv=argv, stdin=json.dumps(job).encode(), limits=LIMITS)
    )
    if done.status in {Status.TIME_LIMIT, Status.MEMORY_LIMIT, Status.OUTPUT_LIMIT}:
        return "over the limits"
    try:
        # As the entry's own process says it: read as whatever it may be.
        answer = json.loads(done.facts.stdout)
        if "reason" in answer:
            return str(answer["reason"])
        outputs = [None if output is None else str(output) for output in answer["outputs"]]
        found = [str(given) for given in answer["inputs"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return f"ends the interpreter ({done.status.value})"
    if job["answer"] and len(outputs) != len(found if inputs is None else inputs):
        return "answers as no entry does"
    return found, outputs


def row(entry: Entry, observed: Observed) -> dict[str, object]:
    """As `verifier score` reads it: a function is called, the reference is the response."""
    return {
        "id": entry.name,
        # Else the number would be that of a sample.
        "problem_id": entry.name,
        "data_source": "codeio",
        "response": fenced(entry.reference),
        "ground_truth": {
            "fn_name": "main_solution",
            "inputs": [given for given, _ in observed.cases],
            "outputs": [output for _, output in observed.cases],
        },
    }


def fenced(source: str) -> str:
    """A response that is this program."""
    fence = "```"
    while fence in source:
        fence += "`"
    return f"{fence}python\n{source}\n{fence}\n"


async def rows(
    engine: Engine, entries: Sequence[Entry], *, cases: int, left_out: Counter[str]
) -> AsyncIterator[dict[str, object]]:
    """The rows, in the entries' order; what gives none is counted in `left_out`.

    Raises:
        InfraError: The sandbox could not run one.
    """
    todo = list(chosen(entries, left_out))
    at_once = 4 * engine.load().slots_total
    for start in range(0, len(todo), at_once):
        part = todo[start : start + at_once]
        found = await asyncio.gather(*(observe(engine, entry, cases) for entry in part))
        for entry, observed in zip(part, found, strict=True):
            if observed.reason:
                left_out[observed.reason] += 1
            else:
                yield row(entry, observed)
