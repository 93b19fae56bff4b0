"""The server's log: what a line has in it, what it has not, and that nobody waits for it."""

from __future__ import annotations

import io
import json
import logging
import os
import re

import pytest

from tests.telemetry.gateways import RESPONSE, world
from verifier.telemetry import logs


@pytest.fixture
def root():
    """The root logger is as it was, whatever happens."""
    logger = logging.getLogger()
    before = (logger.level, logger.handlers[:])
    yield logger
    assert (logger.level, logger.handlers[:]) == before


async def test_a_line_for_each_request_has_its_ids_and_no_content(root):
    out = io.StringIO()
    with logs.configure("json", "info", out):
        async with world() as gateway:
            await gateway.score("1\n", "crash\n", request_id="r-1")
            with pytest.raises(Exception, match="extraction_policy"):
                await gateway.score("1\n", request_id="r-2", extraction_policy="n0nsense")
            await gateway.client.run("print(1)", language="python", request_id="r-3")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    first, second, third = (line for line in lines if line["logger"] == "verifier.access")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("timestamp"))
    assert 0 < first.pop("ms") < 60_000
    assert first == {
        "event": "request",
        "level": "info",
        "logger": "verifier.access",
        "method": "Score",
        "code": "OK",
        "request_id": "r-1",
        "client": "trainer",
        "status": "RUNTIME_ERROR",
        "passed": 1,
        "total": 2,
    }
    assert (second["code"], second["error"]) == ("INVALID_ARGUMENT", "RequestError")
    assert (third["method"], third["status"]) == ("Run", "ACCEPTED")
    for secret in (RESPONSE.split("{")[0].split()[-1], "print", "n0nsense", "Traceback"):
        assert secret not in out.getvalue()


async def test_the_access_log_can_be_turned_off(root):
    out = io.StringIO()
    with logs.configure("json", "info", out):
        async with world(access_log=False) as gateway:
            await gateway.score("1\n")
    assert "verifier.access" not in out.getvalue()


async def test_a_gateway_in_somebody_elses_process_configures_nothing(root, caplog):
    handlers = root.handlers[:]
    async with world() as gateway:
        assert root.handlers == handlers
        await gateway.score("1\n")
    # The root's level is WARNING there: not even the record is made.
    assert [r for r in caplog.records if r.name == "verifier.access"] == []


def test_a_library_s_line_and_an_exception_are_json_too(root):
    out = io.StringIO()
    with logs.configure("json", "warning", out):
        logging.getLogger("verifier.gateway").warning("killing %d requests", 3)
        logging.getLogger("verifier.gateway").info("not at this level")
        try:
            int("boom")
        except ValueError:
            logging.getLogger("other").exception("it failed")
    first, second = map(json.loads, out.getvalue().splitlines())
    assert (first["event"], first["level"]) == ("killing 3 requests", "warning")
    assert second["exception"].endswith("'boom'")


def test_a_terminal_gets_lines_for_people(root):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    with logs.configure("auto", "info", out):
        logging.getLogger("verifier").info("hello")
    assert "hello" in out.getvalue()
    with pytest.raises(json.JSONDecodeError):
        json.loads(out.getvalue())


def test_auto_is_json_where_nobody_looks(root):
    out = io.StringIO()
    with logs.configure("auto", "info", out):
        logging.getLogger("verifier").info("hello")
    assert json.loads(out.getvalue())["event"] == "hello"


def test_a_pipe_that_nobody_reads_holds_nobody(root, monkeypatch):
    monkeypatch.setattr(logs, "QUEUE_LINES", 50)
    read, write = os.pipe()
    os.set_blocking(write, True)
    logger = logging.getLogger("verifier")
    with os.fdopen(write, "w") as out:
        try:
            with logs.configure("json", "info", out) as log:
                # A pipe holds 64 KiB, the queue 50 lines: this would never return if it waited.
                for _ in range(400):
                    logger.info("x" * 1000)
                assert log.dropped > 200
                assert logs.lines_dropped() == log.dropped
            assert logs.lines_dropped() == 0
        finally:
            os.close(read)  # the writer thread gets EPIPE and ends
