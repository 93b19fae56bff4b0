"""What verl's scorers and ours say of the same rows, and where that is not the same.

Each of verl's two scorers is compared twice: with what we give by default, and with our profile of
it (its choice of the program, its comparison), which leaves only how programs are run and how data
is read.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from corpus import Row

from verifier.errors import SuiteError
from verifier.extraction import compat, extract
from verifier.scoring import LocalEngine, prime_code
from verifier.testcases import load_suite
from verifier.types import (
    Case,
    CaseResult,
    Comparator,
    Extraction,
    Outcome,
    Result,
    ScorePolicy,
    ScoreTask,
    Status,
    Suite,
)

SCORERS = ("prime", "sf")
PROFILES = {"prime": "prime", "sf": "verl-sf"}
TEN = ScorePolicy("first_n", prime_code.CONTINUOUS_CASES)

# Kinds of a case. prime_code has one code for a crash and for a limit.
_PRIME_KINDS = {"[True]": "ok", "[False]": "wrong", "[-1]": "failed", "[-2]": "compile"}
_SF_KINDS = {True: "ok", False: "wrong", -2: "crash", -3: "time", -4: "compile", None: ""}
_OUR_KINDS = {
    Status.ACCEPTED: "ok",
    Status.WRONG_ANSWER: "wrong",
    Status.RUNTIME_ERROR: "crash",
    Status.TIME_LIMIT: "time",
    Status.MEMORY_LIMIT: "memory",
    Status.OUTPUT_LIMIT: "output",
    Status.COMPILE_ERROR: "compile",
    Status.NO_CODE: "",
}


@dataclass(frozen=True)
class Answer:
    """What a scorer says of a row.

    Attributes:
        score: Its score; None where it gives none.
        kinds: Of each case that it says something about.
        problem: Why there are no cases: "no code", "no suite", "raised NAME".
        metadata: prime_code's.
    """

    score: float | None = None
    kinds: tuple[str, ...] = ()
    problem: str = ""
    metadata: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Gap:
    """One thing that is not the same.

    Attributes:
        row: Of this row,
        scorer: by this scorer ("prime" or "sf"),
        profile: held against our profile of it,
        index: at this case; None: of the whole row, or
        key: of the case's metadata.
        verl: What verl has.
        ours: What we have.
        case: Its input and expected output; None where we could read none.
        result: Our result of the case.
        extraction: How we found the program.
        their_source: The program that verl takes; None: none.
        source: The program that we take by default; None: none.
    """

    row: Row
    scorer: str
    profile: bool
    index: int | None
    key: str
    verl: Any
    ours: Any
    case: Case | None
    result: CaseResult | None
    extraction: Extraction | None
    their_source: str | None
    source: str | None

    def __str__(self) -> str:
        where = f"{self.row.id} [{self.scorer}{', profile' if self.profile else ''}]"
        place = "" if self.index is None else f" case {self.index}{f' {self.key}' * bool(self.key)}"
        return f"{where}{place}: verl {self.verl!r}, ours {self.ours!r}"


# ---------------------------------------------------------------- verl's side


def verl_answer(said: dict[str, Any], row: Row, name: str) -> Answer:
    """Read what `verl_scores.py` wrote."""
    if name.startswith("sf"):
        if said["errors"]:
            no_code = "missing code block" in said["errors"][0]
            return Answer(said["score"], problem="no code" if no_code else "no suite")
        return Answer(said["score"], tuple(_SF_KINDS[code] for code in said["codes"]))
    if "raised" in said:
        return Answer(problem=f"raised {said['raised']}")
    if said["metadata"] is None:
        assert said["score"] is False
        return Answer(0.0, problem="no suite")
    score = said["score"]
    if said["type"] == "bool" and score:
        assert said["metadata"] == {}
        return Answer(True, ("ok",) * cases_in(row))
    kinds = tuple(_PRIME_KINDS[entry["test_case"]["res"]] for entry in said["metadata"])
    return Answer(score, kinds, metadata=tuple(said["metadata"]))


def cases_in(row: Row) -> int:
    """How many cases verl sees: it reads `inputs`."""
    data = json.loads(row.truth) if isinstance(row.truth, str) else row.truth
    return len(data["inputs"])


# ---------------------------------------------------------------- our side


@dataclass(frozen=True)
class Ours:
    """Our results of one row: by default and by the two profiles; the suite, or why there is none."""

    suite: Suite | None
    default: Result | None = None
    prime: Result | None = None
    sf: Result | None = None

    def result(self, scorer: str, *, profile: bool) -> Result | None:
        if not profile:
            return self.default
        return self.prime if scorer == "prime" else self.sf

    def answer(self, row: Row, scorer: str, *, profile: bool) -> Answer:
        """In the form of that scorer's answers."""
        result = self.result(scorer, profile=profile)
        if self.suite is None or result is None:
            return Answer(problem="no suite")
        assert result.outcome is Outcome.SCORED, (row.id, result.error)
        if scorer == "sf":
            if result.status is Status.NO_CODE:
                return Answer(result.score, problem="no code")
            return Answer(result.score, tuple(_OUR_KINDS[case.status] for case in result.cases))
        score, metadata = prime_code.shape(
            result, self.suite, continuous=True, test_cases=row.truth
        )
        if isinstance(metadata, dict):
            assert (score, metadata) == (True, {})
            return Answer(True, ("ok",) * len(self.suite.cases))
        kinds = tuple(_PRIME_KINDS[entry["test_case"]["res"]] for entry in metadata)
        return Answer(score, kinds, metadata=tuple(metadata))


def score_here(rows: Sequence[Row], engine: LocalEngine) -> dict[str, Ours]:
    """Run all rows in the three ways."""
    ours: dict[str, Ours] = {}
    tasks: list[tuple[str, str, ScoreTask]] = []
    for row in rows:
        try:
            suite = load_suite(row.truth)
        except SuiteError:
            ours[row.id] = Ours(None)
            continue
        ours[row.id] = Ours(suite)
        task = ScoreTask(row.response, suite, language=row.language, limits=row.limits)
        tasks.append((row.id, "default", task))
        for scorer in row.scorers:
            profile = dataclasses.replace(
                task,
                extraction_policy=PROFILES[scorer],
                comparator=Comparator(PROFILES[scorer]),
                language="python",
            )
            tasks.append((row.id, scorer, profile))
    results = engine.score_many([task for _, _, task in tasks])
    for (name, how, _), result in zip(tasks, results, strict=True):
        ours[name] = dataclasses.replace(ours[name], **{how: result})
    return ours


# ---------------------------------------------------------------- both


def gaps_of(row: Row, said: dict[str, Any], ours: Ours) -> Iterator[Gap]:
    """Everything that is not the same."""
    for scorer in row.scorers:
        verl = verl_answer(said[scorer], row, scorer)
        for profile in (False, True):
            yield from _compared(row, scorer, ours, verl, profile=profile)


def _compared(row: Row, scorer: str, ours: Ours, verl: Answer, *, profile: bool) -> Iterator[Gap]:
    answer = ours.answer(row, scorer, profile=profile)
    result = ours.result(scorer, profile=profile)
    found = extract(
        row.response, language=row.language, entry_point=ours.suite and ours.suite.fn_name
    )
    choose = compat.prime_code if scorer == "prime" else compat.sandbox_fusion

    def gap(verl: Any, ours_: Any, index: int | None = None, key: str = "") -> Gap:
        cases = result.cases if result is not None else ()
        return Gap(
            row=row,
            scorer=scorer,
            profile=profile,
            index=index,
            key=key,
            verl=verl,
            ours=ours_,
            case=ours.suite.cases[index] if ours.suite and index is not None else None,
            result=cases[index] if index is not None and index < len(cases) else None,
            extraction=found.extraction,
            their_source=choose(row.response),
            source=None if found.program is None else found.program.source.decode(),
        )

    if verl.problem or answer.problem:
        if (verl.problem, verl.score) != (answer.problem, answer.score):
            yield gap(_told(verl), _told(answer))
        return
    # Where all cases pass, prime_code tells of all of them, else of the first ten.
    theirs, mine = verl.kinds, answer.kinds
    if scorer == "prime" and len(theirs) != len(mine):
        count = prime_code.CONTINUOUS_CASES
        theirs, mine = theirs[:count], mine[:count]
    if len(theirs) != len(mine):
        yield gap(theirs, mine)
        return
    same = True
    for index, (a, b) in enumerate(zip(theirs, mine, strict=True)):
        if a != b:
            same = False
            yield gap(a, b, index)
    if same and (verl.score, type(verl.score)) != (answer.score, type(answer.score)):
        yield gap(verl.score, answer.score)
    for index, (a, b) in enumerate(zip(verl.metadata, answer.metadata, strict=False)):
        if theirs[index] == mine[index]:
            for key in sorted(a.keys() | b.keys()):
                if a.get(key) != b.get(key):
                    yield gap(a.get(key), b.get(key), index, key)


def _told(answer: Answer) -> object:
    return answer.problem or answer.kinds
