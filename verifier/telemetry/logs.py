"""The server's log: JSON or for a terminal, a line for each request, by a thread of its own.

The library logs through the standard `logging` and configures nothing; only `verifier serve`
calls `configure`. structlog renders what comes from either.

A log is written to a pipe that somebody else reads, or does not. The event loop never waits for
that: records go into a bounded queue, a thread writes them, and what finds the queue full is
counted and dropped (`verifier_log_lines_dropped_total`).

An access line says who asked for what and how it ended. It never has a response, a program, an
output or a token in it.
"""

from __future__ import annotations

import contextlib
import io
import logging
import logging.handlers
import queue
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from verifier.types import Result

if TYPE_CHECKING:
    from verifier.telemetry.current import Seen

__all__ = ["ACCESS", "FORMATS", "LEVELS", "ServerLog", "access_line", "configure"]

ACCESS = logging.getLogger("verifier.access")
FORMATS = ("auto", "json", "console")
LEVELS = ("debug", "info", "warning", "error")
QUEUE_LINES = 10_000
# Of a caller's own words (ids, a field that was wrong) in a line.
_MAX_CHARS = 256


def access_line(seen: Seen, code: str, seconds: float, error: BaseException | None = None) -> None:
    """One line about a request that ended."""
    fields: dict[str, Any] = {
        "method": seen.method,
        "code": code,
        "request_id": seen.request_id[:_MAX_CHARS],
        "client": seen.client_id[:_MAX_CHARS],
        "ms": round(seconds * 1e3, 3),
    }
    answer = seen.answer
    if isinstance(answer, Result):
        fields["status"] = (answer.status or answer.outcome).value
        fields["passed"], fields["total"] = answer.passed, answer.total
    elif answer is not None:
        fields["status"] = answer.status.value
    if isinstance(error, Exception):
        # The class alone: a message may quote what the caller sent.
        fields["error"] = type(error).__name__
    # Made by hand: `ACCESS.info` would look for the line of source that called it, each time.
    record = logging.LogRecord(ACCESS.name, logging.INFO, "", 0, "request", None, None)
    record.fields = fields
    ACCESS.handle(record)


class _Handler(logging.handlers.QueueHandler):
    """Never waits, never raises; counts what it drops."""

    def __init__(self, lines: queue.SimpleQueue[logging.LogRecord]) -> None:
        super().__init__(lines)
        self._lines = lines
        self.dropped = 0

    def enqueue(self, record: logging.LogRecord) -> None:
        if self._lines.qsize() < QUEUE_LINES:
            self._lines.put(record)
        else:
            self.dropped += 1

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        # Nobody pickles it. What the record refers to may change or go before it is written.
        if record.args:
            record.msg, record.args = record.getMessage(), None
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        return record


class _Output(logging.Handler):
    """Writes lines where the stream does; in the log's thread alone.

    Past the stream's own buffer, whose lock an interpreter that ends would wait for while this
    thread is held in a write. Where nobody reads any more there is nowhere to say so.
    """

    def __init__(self, stream: TextIO, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        try:
            self._write: Callable[[str], object] = _Raw(stream.fileno()).write
        except (OSError, ValueError):  # no file behind it
            self._write = stream.write

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._write(self.format(record) + "\n")


class _Raw:
    def __init__(self, descriptor: int) -> None:
        self._file = io.FileIO(descriptor, "w", closefd=False)

    def write(self, line: str) -> None:
        data = line.encode("utf-8", "backslashreplace")
        while data:
            data = data[self._file.write(data) or 0 :]


class ServerLog:
    """The log of this process until `close`."""

    def __init__(self, stream: TextIO, formatter: logging.Formatter, level: str) -> None:
        """Take the root logger over."""
        lines: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
        self._handler = _Handler(lines)
        output = _Output(stream, formatter)
        self._listener = logging.handlers.QueueListener(lines, output)
        root = logging.getLogger()
        self._before = (root.level, root.handlers[:])
        root.handlers[:] = [self._handler]
        root.setLevel(level.upper())
        self._listener.start()

    @property
    def dropped(self) -> int:
        """Lines that found the queue full."""
        return self._handler.dropped

    def close(self) -> None:
        """Write what is there, unless nobody reads; then the root logger is as it was."""
        root = logging.getLogger()
        level, handlers = self._before
        root.setLevel(level)
        root.handlers[:] = handlers
        # The listener's own stop waits for ever, with a full pipe behind it.
        self._listener.enqueue_sentinel()
        thread = self._listener._thread  # noqa: SLF001 - the only way to bound the wait
        if thread is not None:
            thread.join(1.0)


_open: list[ServerLog] = []


def lines_dropped() -> int:
    """Of the logs that are open in this process."""
    return sum(log.dropped for log in _open)


@contextlib.contextmanager
def configure(
    fmt: str = "auto", level: str = "info", stream: TextIO | None = None
) -> Iterator[ServerLog]:
    """The server's log for a block.

    Args:
        fmt: "json", "console", or "auto": console where the stream is a terminal.
        level: Of everything that is logged in this process.
        stream: Standard error by default.
    """
    out = sys.stderr if stream is None else stream
    if fmt == "auto":
        fmt = "console" if out.isatty() else "json"
    log = ServerLog(out, _formatter(fmt, colors=out.isatty()), level)
    _open.append(log)
    try:
        yield log
    finally:
        _open.remove(log)
        log.close()


def _formatter(fmt: str, *, colors: bool) -> logging.Formatter:
    import structlog

    last: Any = structlog.processors.JSONRenderer()
    if fmt == "console":
        last = structlog.dev.ConsoleRenderer(colors=colors)
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            _fields,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            last,
        ],
    )


def _fields(logger: object, name: str, event: Any) -> Any:
    """The time, and what an access line says of itself."""
    del logger, name
    record: logging.LogRecord = event["_record"]
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    event["timestamp"] = f"{now}.{int(record.msecs):03d}Z"
    event.update(getattr(record, "fields", {}))
    if record.exc_text:
        event["exception"] = record.exc_text
    return event
