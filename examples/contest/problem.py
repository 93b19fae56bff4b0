"""What a problem of the contest set is, and how it becomes rows.

A problem's first right solution in Python is its reference: it makes the expected outputs. Its
example is written by hand, input and output, so that a reference that is wrong is found when the
set is built. Inputs come from the problem's generator, seeded with the problem's name: the same on
every machine and for every Python.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

__all__ = ["Problem", "Solution", "leaky", "numbers", "right", "slow", "word", "wrong"]

DATA_SOURCE = "contest"
ACCEPTED, WRONG_ANSWER, TIME_LIMIT = "ACCEPTED", "WRONG_ANSWER", "TIME_LIMIT"
# The JVM and V8 take more address space and threads than they use.
_MEMORY_MB = {"java": 512, "javascript": 512}


@dataclass(frozen=True, slots=True)
class Solution:
    """A program for a problem.

    Attributes:
        kind: "right", "wrong", "slow" or "leaky" (it wants the score without solving anything).
        language: The name that stands behind the fence.
        code: The program.
        status: What scoring must say, a `verifier.types.Status`.
    """

    kind: str
    language: str
    code: str
    status: str


def right(code: str, language: str = "python") -> Solution:
    """A solution that passes every case."""
    return Solution("right", language, code.strip(), ACCEPTED)


def wrong(code: str, language: str = "python", status: str = WRONG_ANSWER) -> Solution:
    """A solution with a fault that some case shows."""
    return Solution("wrong", language, code.strip(), status)


def slow(code: str, language: str = "python") -> Solution:
    """A solution that is right, but not within the time limit."""
    return Solution("slow", language, code.strip(), TIME_LIMIT)


def leaky(code: str, language: str = "python", status: str = WRONG_ANSWER) -> Solution:
    """A program that looks for the answers, or works on the judge. It must pass no case."""
    return Solution("leaky", language, code.strip(), status)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with all that belongs to it.

    Attributes:
        name: Its id, words with hyphens.
        difficulty: "easy", "medium" or "hard".
        statement: For the solver; the example is added to it.
        example: Input and output, written by hand. Of a call: JSON of the list of arguments, and
            of the value.
        generate: More inputs, of the form of the example's.
        solutions: The first one is the reference.
        checker: Source of `check(input, output, answer)`, where more than one output is right.
        fn_name: The function to call, of a problem that is no program on standard input.
        cpu_time_s: Limit of a case, in seconds.
    """

    name: str
    difficulty: str
    statement: str
    example: tuple[str, str]
    generate: Callable[[Random], list[str]]
    solutions: tuple[Solution, ...]
    checker: str | None = None
    fn_name: str | None = None
    cpu_time_s: float = 1.0

    def ground_truth(self) -> dict[str, Any]:
        """The tests in verl's prime format.

        Raises:
            ValueError: The reference does not give the example's output.
        """
        random = Random(self.name)  # noqa: S311 - test data, which has to be the same each time
        inputs = [self.example[0], *self.generate(random)]
        outputs = [self._answer(data) for data in inputs]
        if outputs[0].split() != self.example[1].split():
            raise ValueError(f"{self.name}: {outputs[0]!r} for the example {self.example}")
        tests: dict[str, Any] = {"inputs": inputs, "outputs": outputs}
        if self.fn_name:
            # Of a call, the format wants one argument a line.
            tests["inputs"] = ["\n".join(map(json.dumps, json.loads(data))) for data in inputs]
            tests["fn_name"] = self.fn_name
        if self.checker:
            tests["checker"] = self.checker.strip() + "\n"
        return tests

    def _answer(self, data: str) -> str:
        """What the reference says to an input."""
        names: dict[str, Any] = {"__name__": "__main__"}
        printed, stdin = io.StringIO(), sys.stdin
        sys.stdin = io.StringIO("" if self.fn_name else data)
        try:
            with contextlib.redirect_stdout(printed):
                exec(self.solutions[0].code, names)  # noqa: S102 - a program of this folder
        finally:
            sys.stdin = stdin
        if self.fn_name:
            return json.dumps(names[self.fn_name](*json.loads(data)))
        return printed.getvalue()

    def row(self) -> dict[str, Any]:
        """The problem as a row of a verl data set."""
        given, wanted = self.example
        text = f"{self.statement}\n\nExample input:\n{given.rstrip()}\n\nIts output:\n{wanted}"
        return {
            "id": self.name,
            "data_source": DATA_SOURCE,
            "prompt": [{"role": "user", "content": text}],
            "ability": "code",
            "reward_model": {"style": "rule", "ground_truth": json.dumps(self.ground_truth())},
            "extra_info": {"difficulty": self.difficulty},
        }

    def responses(self) -> Iterator[dict[str, Any]]:
        """A row for each solution, with what scoring must say of it."""
        problem, counts = self.row(), dict[str, int]()
        for solution in self.solutions:
            name = f"{solution.kind}-{solution.language}"
            counts[name] = counts.get(name, 0) + 1
            suffix = f"-{counts[name]}" if counts[name] > 1 else ""
            yield {
                **problem,
                "id": f"{self.name}/{name}{suffix}",
                "problem_id": self.name,
                "response": f"```{solution.language}\n{solution.code}\n```\n",
                "limits": {
                    "cpu_time_s": self.cpu_time_s,
                    "memory_mb": _MEMORY_MB.get(solution.language, 256),
                },
                "extra_info": {
                    **problem["extra_info"],
                    "kind": solution.kind,
                    "language": solution.language,
                    "wanted_status": solution.status,
                },
            }


def numbers(random: Random, count: int, low: int, high: int) -> str:
    """A line with a count, and a line with as many integers."""
    return f"{count}\n{' '.join(str(random.randint(low, high)) for _ in range(count))}\n"


def word(random: Random, length: int, letters: str = "abcdefghijklmnopqrstuvwxyz") -> str:
    """A word of a length."""
    return "".join(random.choice(letters) for _ in range(length))
