"""Results that survive any end of the process: append-only, in the order of the rows, resumable.

Two files. RESULTS has one line for each row, in order, and is only ever appended to. Beside it,
RESULTS.journal says what the run is (so that another one is not mixed into it), keeps the results
of rows that are done while an earlier one is not, and notes from time to time how long RESULTS was
and what its checksum was. Each line of the journal carries its own checksum.

    header   {"run": {...}}                      what is scored, and how
    ahead    {"row": 17, "result": "..."}        row 17 is done, and one before it is not
    mark     {"rows": 1000, "bytes": n, "crc32": c}

A line is handed to the operating system before the next row is begun, so that `kill -9` loses the
rows in flight alone; at a mark both files are synced to the disk. To resume is to read RESULTS up
to its last whole line, compare it with the marks, and go on with the first row that neither file
has.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from verifier.errors import DataError

__all__ = ["Journal", "journal_of"]

VERSION = 1
# A mark costs a sync of both files: a hundredth of the time between two of them.
MARK_S = 2.0
# Above that, what no longer counts is dropped from the journal.
_REWRITE_BYTES = 4 * 1024 * 1024


def journal_of(results: Path) -> Path:
    """Where the journal of a results file is."""
    return results.with_name(results.name + ".journal")


class Journal:
    """The two files of one run, open for writing.

    Attributes:
        rows: Rows whose results are in RESULTS: the first so many.
    """

    def __init__(self, results: Path, run: dict[str, Any], clock: Callable[[], float]) -> None:
        """`Journal.begin` or `Journal.resume` makes one."""
        self._path = results
        self._run = run
        self._clock = clock
        self._ahead: dict[int, bytes] = {}
        self._crc = 0
        self._bytes = 0
        self._marked_at = clock()
        self._results: BinaryIO
        self._journal: BinaryIO
        self.rows = 0

    @classmethod
    def begin(
        cls, results: Path, run: dict[str, Any], clock: Callable[[], float] = time.monotonic
    ) -> Journal:
        """New files; what was there under their names is gone.

        Args:
            results: RESULTS.
            run: What is scored and how: plain JSON values, compared when it is resumed.
            clock: Monotonic seconds.

        Raises:
            DataError: They cannot be written.
        """
        journal = cls(results, run, clock)
        with _said(results):
            journal._results = results.open("wb", buffering=0)
            journal._journal = journal_of(results).open("wb", buffering=0)
            journal._note({"version": VERSION, "run": run})
        return journal

    @classmethod
    def resume(
        cls,
        results: Path,
        run: dict[str, Any],
        seen: Callable[[bytes], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Journal:
        """Go on where a run ended.

        Args:
            results: RESULTS of that run; where neither file is there, it begins.
            run: As for `begin`.
            seen: Called with each line that is kept, in order; then with those that wait for an
                earlier row.
            clock: Monotonic seconds.

        Raises:
            DataError: It is another run's, or was changed since; says what to do.
        """
        path = journal_of(results)
        if not path.exists():
            if results.exists() and results.stat().st_size:
                raise DataError(
                    f"{results} has no journal beside it ({path.name}): nothing says that it is of "
                    "this run; move it away, or leave out --resume to overwrite it"
                )
            return cls.begin(results, run, clock)
        journal = cls(results, run, clock)
        with _said(results):
            marks = journal._read_journal(path)
            if marks is None:  # it was killed before the journal's first line was written
                if results.exists() and results.stat().st_size:
                    raise DataError(
                        f"{path} is damaged, and nothing says what {results} is of: move it away, "
                        "or start over without --resume"
                    )
                return cls.begin(results, run, clock)
            results.touch()
            journal._read_results(marks, seen)
            journal._results = results.open("r+b", buffering=0)
            journal._results.truncate(journal._bytes)
            journal._results.seek(0, os.SEEK_END)
            journal._append_ahead()
            journal._journal = path.open("r+b", buffering=0)
            journal._rewrite()
        return journal

    def has(self, row: int) -> bool:
        """Whether this row (from 0) is done."""
        return row < self.rows or row in self._ahead

    def add(self, row: int, line: bytes) -> None:
        """The result of a row, in any order.

        Raises:
            DataError: The disk refuses it.
        """
        with _said(self._path):
            if row != self.rows:
                self._ahead[row] = line
                self._note({"row": row, "result": line.decode("ascii")})
                return
            self._append(line)
            self._append_ahead()
            if self._clock() - self._marked_at >= MARK_S:
                self.mark()

    def mark(self) -> None:
        """Have both files on the disk, and note what they are.

        Raises:
            DataError: The disk refuses it.
        """
        with _said(self._path):
            os.fsync(self._results.fileno())
            if self._ahead and self._journal.tell() < _REWRITE_BYTES:
                self._note(self._mark())
            else:
                self._rewrite()
            os.fsync(self._journal.fileno())
        self._marked_at = self._clock()

    def close(self) -> None:
        """Mark the end, and close both files."""
        try:
            self.mark()
        finally:
            self._results.close()
            self._journal.close()

    # ------------------------------------------------------------ writing

    def _append(self, line: bytes) -> None:
        _write(self._results, line)
        self._count(line)

    def _append_ahead(self) -> None:
        """What waited for the rows that are there by now."""
        # Kept until it is written: on a full disk it stays in the journal.
        while (line := self._ahead.get(self.rows)) is not None:
            self._append(line)
            del self._ahead[self.rows - 1]

    def _count(self, line: bytes) -> None:
        """RESULTS has one line more."""
        self._crc = zlib.crc32(line, self._crc)
        self._bytes += len(line)
        self.rows += 1

    def _mark(self) -> dict[str, Any]:
        return {"rows": self.rows, "bytes": self._bytes, "crc32": self._crc}

    def _note(self, entry: dict[str, Any]) -> None:
        data = json.dumps(entry, separators=(",", ":")).encode()
        _write(self._journal, b"%08x %s\n" % (zlib.crc32(data), data))

    def _rewrite(self) -> None:
        """Begin the journal anew, with what still counts: it does not grow with the run."""
        path = journal_of(self._path)
        fresh = path.with_name(path.name + ".new")
        old, self._journal = self._journal, fresh.open("wb", buffering=0)
        self._note({"version": VERSION, "run": self._run})
        self._note(self._mark())
        for row, line in self._ahead.items():
            self._note({"row": row, "result": line.decode("ascii")})
        os.fsync(self._journal.fileno())
        fresh.replace(path)
        old.close()

    # ------------------------------------------------------------ reading

    def _read_journal(self, path: Path) -> list[dict[str, Any]] | None:
        entries = list(_entries(path))
        if not entries:
            return None
        head = entries[0]
        if head.get("version") != VERSION or "run" not in head:
            raise DataError(f"{path} is of another version: start over without --resume")
        if head["run"] != self._run:
            changed = sorted(
                key
                for key in {*head["run"], *self._run}
                if head["run"].get(key) != self._run.get(key)
            )
            raise DataError(
                f"{self._path} is of another run ({', '.join(changed)} differ): name another file, "
                "or start over without --resume"
            )
        for entry in entries:
            if "row" in entry:
                self._ahead[entry["row"]] = entry["result"].encode("ascii")
        return [entry for entry in entries if "rows" in entry]

    def _read_results(self, marks: list[dict[str, Any]], seen: Callable[[bytes], None]) -> None:
        due = {mark["bytes"]: mark for mark in marks}
        due.pop(0, None)
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._count(line)
                mark = due.pop(self._bytes, None)
                if mark is not None and (mark["rows"], mark["crc32"]) != (self.rows, self._crc):
                    raise DataError(
                        f"{self._path} was changed after it was written: it does not have the "
                        f"checksum of its first {mark['rows']} rows; start over without --resume"
                    )
                seen(line)
        if due:
            raise DataError(
                f"{self._path} is shorter than its journal says, or was changed: start over "
                "without --resume"
            )
        for row in [row for row in self._ahead if row < self.rows]:
            del self._ahead[row]
        for row in sorted(self._ahead):
            seen(self._ahead[row])


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """The journal's lines, up to the first that is not whole."""
    with path.open("rb") as file:
        for line in file:
            crc, _, data = line.rstrip(b"\n").partition(b" ")
            try:
                if not line.endswith(b"\n") or int(crc, 16) != zlib.crc32(data):
                    return
                entry = json.loads(data)
            except ValueError:
                return
            if not isinstance(entry, dict):
                return
            yield entry


def _write(file: BinaryIO, data: bytes) -> None:
    """All of it: an unbuffered file may take a part."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


@contextlib.contextmanager
def _said(results: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "; make room, then go on with --resume" if full else ""
        raise DataError(f"cannot write {results}: {error.strerror or error}{remedy}") from None
