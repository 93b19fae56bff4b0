"""A run that ends anywhere goes on with exactly the rows that are missing."""

from __future__ import annotations

import random

import pytest

from verifier.data import Journal
from verifier.data.journal import journal_of
from verifier.errors import DataError

RUN = {"files": [["rows.jsonl", 10]], "limit": None}
ROWS = 60


def line(row):
    return b'{"id": "%d", "text": "%s"}\n' % (row, b"x" * (row * 7 % 90))


WHOLE = b"".join(map(line, range(ROWS)))


class Clock:
    """A mark is due every third time that it is looked at."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 0.7
        return self.now


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results.jsonl"


def go_on(results, seen=lambda _: None):
    return Journal.resume(results, RUN, seen, Clock())


def killed(journal):
    """Nothing more is written."""
    journal._results.close()
    journal._journal.close()


def some_order(seed):
    """Nearly in order, as rows finish that are scored a few at a time."""
    rows = list(range(ROWS))
    drawn = random.Random(seed)
    return sorted(rows, key=lambda row: row + drawn.uniform(0, 9))


@pytest.mark.parametrize("seed", range(5))
def test_results_are_in_order_whatever_finishes_first(results, seed):
    journal = Journal.begin(results, RUN, Clock())
    for row in some_order(seed):
        journal.add(row, line(row))
    journal.close()
    assert results.read_bytes() == WHOLE


@pytest.mark.parametrize("seed", range(40))
def test_any_end_of_the_process_at_any_byte(results, seed):
    """The files are cut where a process was killed: after any write, or within the last one."""
    drawn = random.Random(seed)
    todo = some_order(seed)
    for _ in range(6):
        kept = []
        journal = go_on(results, kept.append)
        done = [row for row in range(ROWS) if journal.has(row)]
        assert kept == [line(row) for row in done]
        left = [row for row in todo if not journal.has(row)]
        for row in left[: drawn.randrange(len(left) + 1)]:
            journal.add(row, line(row))
        killed(journal)  # and the last line of either file may be written in part
        for path in (results, journal_of(results)):
            data = path.read_bytes()
            whole = data.rfind(b"\n", 0, len(data) - 1) + 1
            if data and drawn.random() < 0.5 and path is results:
                path.write_bytes(data + b'{"id": "par')
            elif data and whole and drawn.random() < 0.3 and path is not results:
                path.write_bytes(data + b"0123abcd {")
    journal = go_on(results)
    for row in todo:
        if not journal.has(row):
            journal.add(row, line(row))
    journal.close()
    assert results.read_bytes() == WHOLE


def test_a_row_that_was_done_is_not_done_again(results):
    journal = Journal.begin(results, RUN, Clock())
    for row in (0, 1, 5, 3):
        journal.add(row, line(row))
    killed(journal)
    again = go_on(results)
    assert [row for row in range(8) if again.has(row)] == [0, 1, 3, 5]
    again.add(2, line(2))
    assert again.rows == 4
    again.add(4, line(4))
    assert again.rows == 6
    again.close()


def test_what_waited_for_an_earlier_row_is_seen_too(results):
    journal = Journal.begin(results, RUN, Clock())
    for row in (0, 2, 5):
        journal.add(row, line(row))
    killed(journal)
    kept = []
    go_on(results, kept.append).close()
    assert kept == [line(0), line(2), line(5)]


def test_a_damaged_journal_costs_no_results(results):
    journal = Journal.begin(results, RUN, Clock())
    journal.add(0, line(0))
    journal.close()
    journal_of(results).write_bytes(b"")
    with pytest.raises(DataError, match="is damaged"):
        go_on(results)
    assert results.read_bytes() == line(0)


def test_a_finished_run_has_nothing_left(results):
    journal = Journal.begin(results, RUN, Clock())
    for row in range(ROWS):
        journal.add(row, line(row))
    journal.close()
    again = go_on(results)
    assert again.rows == ROWS
    again.close()
    assert results.read_bytes() == WHOLE


def test_the_journal_does_not_grow_with_the_run(results):
    journal = Journal.begin(results, RUN, Clock())
    for row in range(20_000):
        journal.add(row, line(row))
    journal.close()
    assert journal_of(results).stat().st_size < 1000


def test_another_run_is_refused_by_what_differs(results):
    Journal.begin(results, RUN).close()
    with pytest.raises(DataError, match=r"another run \(limit differ\)"):
        Journal.resume(results, {**RUN, "limit": 3})


def test_results_that_were_changed_are_refused(results):
    journal = Journal.begin(results, RUN, Clock())
    for row in range(9):
        journal.add(row, line(row))
    journal.close()
    whole = results.read_bytes()
    results.write_bytes(whole.replace(b'"3"', b'"4"'))
    with pytest.raises(DataError, match="changed"):
        go_on(results)
    results.write_bytes(whole[:40])
    with pytest.raises(DataError, match="shorter"):
        go_on(results)
    results.unlink()
    with pytest.raises(DataError, match="shorter"):
        go_on(results)


def test_results_without_a_journal_are_not_overwritten(results):
    results.write_bytes(WHOLE)
    with pytest.raises(DataError, match="no journal beside it"):
        go_on(results)
    assert results.read_bytes() == WHOLE


def test_a_disk_that_fills_is_said_and_gone_on_from(results, monkeypatch):
    import errno

    from verifier.data import journal as module

    journal = Journal.begin(results, RUN, Clock())
    journal.add(0, line(0))

    def full(_file, _data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "_write", full)
    with pytest.raises(DataError, match="No space left on device; make room, then go on"):
        journal.add(1, line(1))
    monkeypatch.undo()
    killed(journal)
    again = go_on(results)
    assert again.rows == 1
    again.add(1, line(1))
    again.close()
    assert results.read_bytes() == line(0) + line(1)
