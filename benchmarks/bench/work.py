"""The programs that are run, with their inputs and outputs.

Every contender of a work runs the same program on the same inputs. A response has a comment with a
number of its own, so that no contender lives on what it has compiled or judged before; result
caches are switched off besides.
"""

from __future__ import annotations

import itertools
import os

from verifier.client import ScoreCall

CASES = 10
INPUTS = tuple(f"{i} {i * i + 3}\n" for i in range(2, 2 + CASES))
EXPECTED = tuple(f"{i + i * i + 3}\n" for i in range(2, 2 + CASES))
TRUTH = {"inputs": list(INPUTS), "outputs": list(EXPECTED)}
ONE_CASE = {"inputs": [INPUTS[0]], "outputs": [EXPECTED[0]]}
PROGRAM = "print(sum(map(int, input().split())))\n"

CPP_PROGRAM = """#include <bits/stdc++.h>
using namespace std;
int main() {
    ios::sync_with_stdio(false);
    long long sum = 0, next;
    while (cin >> next) sum += next;
    cout << sum << endl;
}
"""

_numbers = itertools.count()
_run = os.getpid()


def distinct(source: str, comment: str = "#") -> str:
    """The same program, as another text."""
    return f"{comment} {_run}.{next(_numbers)}\n{source}"


def fenced(source: str, language: str = "python") -> str:
    """As a model answers."""
    return f"```{language}\n{source}```"


def python_call(truth: object = None, *, source: str = PROGRAM, **fields: object) -> ScoreCall:
    """One response with a program of its own."""
    return ScoreCall(
        fenced(distinct(source)),
        TRUTH if truth is None else truth,
        no_cache=True,
        **fields,  # type: ignore[arg-type]
    )
