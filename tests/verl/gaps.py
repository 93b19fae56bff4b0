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
from typing import Any, NamedTuple

from corpus import Row

from verifier._text import to_text
from verifier.errors import SuiteError
from verifier.extraction import compat, extract
from verifier.judging import aggregate
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
        key: of the case's metadata; or of the row: "score" (which is not what its cases make), and
            "plain" or "ten": the score with the other value of `continuous`.
        verl: What verl has.
        ours: What we have.
        suite: What we read from the ground truth; None: it is unusable.
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
    suite: Suite | None
    result: CaseResult | None
    extraction: Extraction | None
    their_source: str | None
    source: str | None

    @property
    def case(self) -> Case | None:
        """Its input and expected output."""
        return None if self.suite is None or self.index is None else self.suite.cases[self.index]

    @property
    def same_program(self) -> bool:
        """Both ran the same program: under a profile always, else where the choice is the same."""
        if self.profile or self.their_source is None or self.source is None:
            return self.profile
        return plain_text(self.their_source) == plain_text(self.source)

    @property
    def program(self) -> str:
        """What both ran."""
        return self.their_source or ""

    def __str__(self) -> str:
        where = f"{self.row.id} [{self.scorer}{', profile' if self.profile else ''}]"
        place = "" if self.index is None else f" case {self.index}{f' {self.key}' * bool(self.key)}"
        return f"{where}{place}: verl {self.verl!r}, ours {self.ours!r}"


def plain_text(source: str) -> str:
    """Without what both ways of cutting a block do differently and no program notices."""
    return to_text(source).replace("\r\n", "\n").strip("\n ")


# ---------------------------------------------------------------- verl's side


def verl_answer(answers: dict[str, Any], row: Row, name: str) -> Answer:
    """Read what `verl_scores.py` wrote."""
    said = answers[name]
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
        return Answer(score=True, kinds=("ok",) * cases_in(row))
    metadata = said["metadata"]
    if answers["prime_calls"] is not None:
        # What its check says of each call, in the place of what `compute_score` made of it.
        metadata = [
            {**call["metadata"], "test_case": {**entry["test_case"], "res": call["res"]}}
            for entry, call in zip(metadata, answers["prime_calls"], strict=True)
        ]
    kinds = tuple(_PRIME_KINDS[entry["test_case"]["res"]] for entry in metadata)
    return Answer(score, kinds, metadata=tuple(metadata))


def cases_in(row: Row) -> int:
    """How many cases verl sees: it reads `inputs`."""
    data = json.loads(row.truth) if isinstance(row.truth, str) else row.truth
    return len(data["inputs"])


# ---------------------------------------------------------------- our side


@dataclass(frozen=True)
class Ours:
    """The suite of a row (None: it is unusable), and our results by default and by profile."""

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
            return Answer(score=True, kinds=("ok",) * len(self.suite.cases))
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
        for scorer in row.scorers if row.profiles else ():
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
    found = extract(
        row.response, language=row.language, entry_point=ours.suite and ours.suite.fn_name
    )
    for scorer in row.scorers:
        verl = verl_answer(said, row, scorer)
        choose = compat.prime_code if scorer == "prime" else compat.sandbox_fusion
        for profile in (False, True) if row.profiles else (False,):
            answer = ours.answer(row, scorer, profile=profile)
            result = ours.result(scorer, profile=profile)
            pairs = [*_unequal(verl, answer, scorer)]
            if row.both_modes and ours.suite is not None and result is not None:
                other = _other_mode(ours.suite, result, said, scorer)
                pairs += [other] if other.verl != other.ours else []
            cases = result.cases if result is not None else ()
            for pair in pairs:
                index = pair.index
                yield Gap(
                    row=row,
                    scorer=scorer,
                    profile=profile,
                    index=index,
                    key=pair.key,
                    verl=pair.verl,
                    ours=pair.ours,
                    suite=ours.suite,
                    result=cases[index] if index is not None and index < len(cases) else None,
                    extraction=found.extraction,
                    their_source=choose(row.response),
                    source=None if found.program is None else found.program.source.decode(),
                )


class _Pair(NamedTuple):
    """What both have in one place."""

    verl: Any
    ours: Any
    index: int | None = None
    key: str = ""


def _unequal(verl: Answer, answer: Answer, scorer: str) -> Iterator[_Pair]:
    if verl.problem or answer.problem:
        if (verl.problem, verl.score) != (answer.problem, answer.score):
            yield _Pair(verl.problem or verl.kinds, answer.problem or answer.kinds)
        return
    theirs, mine = verl.kinds, answer.kinds
    if scorer == "prime" and len(theirs) != len(mine):
        # Where all cases pass, prime_code tells of all of them, else of the first ten.
        count = prime_code.CONTINUOUS_CASES
        theirs, mine = theirs[:count], mine[:count]
    if len(theirs) != len(mine):
        yield _Pair(theirs, mine)
        return
    yield from (_Pair(a, b, i) for i, (a, b) in enumerate(zip(theirs, mine, strict=True)) if a != b)
    # Where cases differ, so do scores: then verl's has to be what its own cases make.
    due = share(theirs) if theirs != mine else answer.score
    if verl.score != due or (theirs == mine and type(verl.score) is not type(due)):
        yield _Pair(verl.score, due, key="score")
    for index, (a, b) in enumerate(zip(verl.metadata, answer.metadata, strict=False)):
        if theirs[index] == mine[index]:
            keys = sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))
            yield from (_Pair(a.get(key), b.get(key), index, key) for key in keys)


def _other_mode(suite: Suite, result: Result, said: dict[str, Any], scorer: str) -> _Pair:
    """Scores with the value of `continuous` that is not prime_code's usual, or not sf's."""
    if scorer == "prime":
        plain = said["prime_plain"]
        theirs = f"raised {plain['raised']}" if "raised" in plain else plain["score"]
        return _Pair(theirs, prime_code.shape(result, suite, continuous=False)[0], key="plain")
    statuses = [case.status for case in result.cases]
    mine = aggregate(statuses, [1.0] * len(statuses), TEN)
    return _Pair(said["sf_ten"]["score"], mine, key="ten")


def share(kinds: Sequence[str]) -> float:
    """The score of these cases."""
    return kinds.count("ok") / len(kinds)
