"""A plug-in of pytest that writes one record a test; see `run.py`. Loaded before any test file."""

from __future__ import annotations

import json
import os
import typing


def _nonce() -> bytes:
    with os.fdopen(8, "rb") as file:
        return file.read()


_NONCE = _nonce()
_write = os.write
_tests: dict[str, dict[str, typing.Any]] = {}


def _say(record: dict[str, typing.Any]) -> None:
    _write(9, _NONCE + json.dumps(record).encode() + b"\n")


def pytest_runtest_makereport(item: typing.Any, call: typing.Any) -> None:
    """Note how a phase ended."""
    test = _tests.setdefault(item.nodeid, {"name": item.nodeid, "status": "passed", "seconds": 0.0})
    test["seconds"] += call.duration
    if call.excinfo is None:
        return
    kinds = {kind.__name__ for kind in call.excinfo.type.__mro__}
    if kinds & {"Skipped", "SkipTest"}:
        test["status"] = "skipped"
    else:
        asserts = call.when == "call" and kinds & {"AssertionError", "Failed"}
        test["status"] = "failed" if asserts else "error"
    test["message"] = call.excinfo.exconly()[:4000]


def pytest_runtest_logreport(report: typing.Any) -> None:
    """Say what became of a test when its last phase is over."""
    test = _tests.get(report.nodeid)
    if test is None:
        return
    if hasattr(report, "wasxfail"):
        test["status"] = "passed" if report.skipped else "failed"
    if report.when == "teardown":
        _say(test)


def pytest_collectreport(report: typing.Any) -> None:
    """A file that could not be read."""
    if report.failed:
        message = str(report.longrepr)[-4000:]
        _say({"container": report.nodeid, "status": "error", "message": message})
