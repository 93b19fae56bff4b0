"""Our scorers of answers against verl 0.9.1's own, row by row, and the list of what may differ.

As `tests/verl/test_differential.py` for the scorers of code: a gap that no difference explains
fails, and so does a difference that explains nothing any more.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from answer_corpus import CORPUS, SOURCES, UNKNOWN, Row
from answer_differences import INVALID, LIST, Gap
from verl_python import ROOT, run_in_verl, verl_python

from verifier.errors import RequestError, SuiteError
from verifier.scoring import (
    close_symbolic_pool,
    default_compute_score,
    default_compute_score_async,
    known_sources,
    math_verify,
)

pytestmark = pytest.mark.timeout(400)

SCRIPT = Path(__file__).with_name("verl_answers.py")
PAGE = ROOT / "docs" / "differences.md"
NAMES = [difference.name for difference in LIST]


@pytest.fixture(scope="module")
def verl(tmp_path_factory):
    """What verl says of each row, by the row's id."""
    verl_python()
    folder = tmp_path_factory.mktemp("answers")
    given, taken = folder / "rows.json", folder / "scores.json"
    rows = [row.__dict__ for part in (*CORPUS.values(), UNKNOWN) for row in part]
    given.write_text(json.dumps(rows))
    run_in_verl(SCRIPT, given, taken, timeout_s=350)
    answer = json.loads(taken.read_text("ascii"))
    assert answer["verl"] == "0.9.1"
    yield {id_: said.get("raises", said.get("value")) for id_, said in answer["answers"].items()}
    close_symbolic_pool()


def ours_of(row: Row):
    if row.source == "math_verify":
        try:
            return math_verify.compute_score(row.response, row.truth)
        except SuiteError:
            return INVALID
    value = default_compute_score(row.source, row.response, row.truth)
    invalid = isinstance(value, dict) and value.get("outcome") == "INVALID_SUITE"
    return INVALID if invalid else value


@pytest.fixture(scope="module")
def gaps(verl):
    found = []
    for row in (row for rows in CORPUS.values() for row in rows):
        ours = ours_of(row)
        if type(ours) is not type(verl[row.id]) or ours != verl[row.id]:
            found.append(Gap(row, verl[row.id], ours))
    return found


@pytest.mark.parametrize("scorer", CORPUS)
def test_all_else_is_exact(scorer, gaps, verl):
    rows = CORPUS[scorer]
    assert len(rows) >= 250
    assert {row.source for row in rows} == set(SOURCES[scorer])
    here = [gap for gap in gaps if gap.row in rows]
    assert [gap for gap in here if not any(d.explains(gap) for d in LIST)] == []
    # Both verdicts occur, and often: a scorer that always says the same is not what is compared.
    scores = [verl[row.id] for row in rows]
    right = [s for s in scores if (s["score"] if isinstance(s, dict) else s) in (1.0, 0.9)]
    assert 30 < len(right) < len(rows) - 100


@pytest.mark.parametrize("difference", LIST, ids=NAMES)
def test_it_still_differs(difference, gaps):
    alone = [g for g in gaps if difference.explains(g)]
    assert alone, f"{difference.name} explains nothing any more: take it out, here and in {PAGE}"
    assert all(sum(other.explains(gap) for other in LIST) == 1 for gap in alone)


def test_the_page_lists_the_same():
    assert re.findall(r"^#### (\S+)$", PAGE.read_text("utf-8"), re.MULTILINE) == NAMES


def test_a_source_that_nobody_knows_raises_in_both(verl):
    for row in UNKNOWN:
        assert verl[row.id] == "NotImplementedError"
        with pytest.raises(RequestError, match="no scorer is registered"):
            ours_of(row)


def test_every_source_of_verls_table_is_in_ours():
    for sources in SOURCES.values():
        for source in sources:
            assert source == "math_verify" or source in known_sources() or source.startswith("aime")


async def test_on_an_event_loop_it_is_the_same(gaps):
    """Ten rows of each scorer at once, some of them in worker processes."""
    rows = [row for scorer, part in CORPUS.items() if scorer != "math_verify" for row in part[:10]]
    calls = [default_compute_score_async(row.source, row.response, row.truth) for row in rows]
    assert await asyncio.gather(*calls) == [ours_of(row) for row in rows]
