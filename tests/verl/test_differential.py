"""Our scorers of code against verl 0.9.1's own, row by row, and the list of what may differ.

verl's side runs in the environment that `scripts/verl-venv` makes (`verl_scores.py`), ours here. A
gap that no difference explains fails, and so does a difference that explains nothing any more.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS, Row
from differences import LIST
from gaps import TEN, Gap, gaps_of, score_here
from reports import CASES, check_script, need_reports
from verl_python import ROOT, cannot, run_in_verl, verl_python

from verifier.cli.doctor import examine
from verifier.scoring import LocalEngine, close_local_engines, local_engine, prime_code
from verifier.testcases import load_suite
from verifier.types import LimitOverrides, ScoreTask

pytestmark = [pytest.mark.namespaces, pytest.mark.timeout(540)]

SCRIPT = Path(__file__).with_name("verl_scores.py")
PAGE = ROOT / "docs" / "differences.md"
NAMES = [difference.name for difference in LIST]
# What verl would run with nothing around it, and what must not run so.
HAZARDS = re.compile(r"os\.(?:fork|kill)\b|['\"]/tmp/")
# Reports whose programs never end, or take what they can: a second is enough on verl's side.
ENDLESS = ("TIME_LIMIT", "MEMORY_LIMIT", "OUTPUT_LIMIT", "PARTIAL")


def report_corpus() -> list[Row]:
    """The field reports about scores, as rows; without those that need a sandbox."""
    check, rows = check_script(), []
    for case in check.load(CASES):
        if case["kind"] != "score" or HAZARDS.search(case["response"]):
            continue
        limits = case["limits"]
        endless = case["expected"]["status"] in ENDLESS
        rows.append(
            Row(
                f"report {case['id']}",
                case["response"],
                check.suite(case),
                language=case["language"],
                limits=LimitOverrides(
                    cpu_time_s=float(limits["time_s"]),
                    memory_bytes=limits["memory_mb"] * 1024 * 1024,
                    output_bytes=limits["output_bytes"],
                ),
                timeout_s=1 if endless else None,
                profiles=not endless,
                needs=case["language"],
            )
        )
    return rows


@dataclass(frozen=True)
class Host:
    """Our side: an engine on this host, what it accepts as missing, and which languages it has."""

    engine: LocalEngine
    accept: list[str]
    languages: frozenset[str]

    def runnable(self, rows: list[Row]) -> list[Row]:
        return [row for row in rows if row.needs in self.languages]


@pytest.fixture(scope="module")
def host():
    verl_python()
    found = asyncio.run(examine("namespaces"))
    if found.problem:
        cannot(f"namespaces: {found.problem}", unless="VERIFIER_REQUIRE_NAMESPACES")
    engine = local_engine(accept=found.missing)
    yield Host(engine, found.missing, frozenset(found.toolchains))
    close_local_engines()


def verl_says(rows: list[Row], folder: Path) -> dict[str, Any]:
    """Each row's answers of verl's scorers, by the row's id."""
    fields = ("id", "response", "truth", "timeout_s", "both_modes", "scorers")
    given, taken = folder / "rows.json", folder / "scores.json"
    given.write_text(json.dumps([{name: getattr(row, name) for name in fields} for row in rows]))
    run_in_verl(SCRIPT, given, taken, timeout_s=300)
    answer = json.loads(taken.read_text("ascii"))
    assert answer["verl"] == "0.9.1"
    return {row["id"]: row for row in answer["rows"]}


def gaps_in(rows: list[Row], host: Host, folder: Path) -> list[Gap]:
    said = verl_says(rows, folder)
    ours = score_here(rows, host.engine)
    return [gap for row in rows for gap in gaps_of(row, said[row.id], ours[row.id])]


@pytest.fixture(scope="module")
def gaps(host, tmp_path_factory):
    return gaps_in(host.runnable(CORPUS), host, tmp_path_factory.mktemp("verl"))


def unexplained(gaps: list[Gap]) -> list[str]:
    return [str(gap) for gap in gaps if not any(d.explains(gap) for d in LIST)]


def test_all_else_is_exact(gaps):
    assert len({row.id for row in CORPUS}) == len(CORPUS) >= 60
    assert unexplained(gaps) == []


def test_all_else_is_exact_in_the_field_reports(host, tmp_path):
    need_reports()
    rows = host.runnable(report_corpus())
    assert len(rows) >= 80
    assert unexplained(gaps_in(rows, host, tmp_path)) == []


@pytest.mark.parametrize("difference", LIST, ids=NAMES)
def test_it_still_differs(difference, gaps):
    """A row of the corpus shows it, and nothing else explains what that row shows."""
    alone = [
        gap
        for gap in gaps
        if difference.explains(gap) and sum(other.explains(gap) for other in LIST) == 1
    ]
    assert alone, f"{difference.name} explains nothing any more: take it out, here and in {PAGE}"


def test_the_page_lists_the_same():
    scorers, _, _ = PAGE.read_text("utf-8").partition("\n# Differences from verl's reward managers")
    headings = re.findall(r"^### (\S+)$", scorers, re.MULTILINE)
    assert headings == NAMES
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("row", [row for row in CORPUS if row.both_modes], ids=lambda row: row.id)
@pytest.mark.parametrize("continuous", [True, False])
def test_compute_score_is_what_was_compared(row, continuous, host):
    """The rows above are scored in batches; the public function gives the same."""
    suite = load_suite(row.truth)
    (result,) = host.engine.score_many([ScoreTask(row.response, suite, limits=row.limits)])
    shaped = prime_code.shape(result, suite, continuous=continuous, test_cases=row.truth)
    answer = prime_code.compute_score(
        row.response, row.truth, continuous, limits=row.limits, accept=host.accept
    )
    assert without_texts(answer) == without_texts(shaped)
    if continuous and not isinstance(answer[0], bool):
        (first_ten,) = host.engine.score_many([ScoreTask(row.response, suite, policy=TEN)])
        assert answer[0] == first_ten.score


def without_texts(answer: Any) -> Any:
    """Messages and tracebacks may have a number in them that differs from run to run."""
    score, metadata = answer
    if isinstance(metadata, dict):
        return score, metadata
    drop = ("error", "traceback")
    return score, [{k: v for k, v in entry.items() if k not in drop} for entry in metadata]
