"""The description of a problem package."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from verifier.errors import ConfigError, SuiteError
from verifier.testcases import load_problem_package

NAMES = ("problem.yaml", "problem.xml", "data/testdata.yaml", "data/secret/test_group.yaml")
WORDS = (
    b"name: limits: time_limit: memory: validation: custom interactive validator_flags:"
    b" scoring type: problem_format_version: legacy 2023-07-draft grading: on_reject:"
    b" <problem> <judging> <testset <test <checker <interactor <source path= name="
    b" <time-limit> <tests> &a *a [ ] { } - ? ! | > %d"
).split()


def target(data: bytes) -> None:
    name = NAMES[(data[:1] or b"\0")[0] % len(NAMES)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in ("data/secret/1.in", "data/secret/1.ans", "tests/01", "tests/01.a"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(b"1\n")
        if name != "problem.xml":
            (root / "problem.yaml").write_bytes(b"name: x\n")
        (root / name).write_bytes(data[1:])
        with contextlib.suppress(SuiteError, ConfigError):
            load_problem_package(root)


def seeds() -> list[bytes]:
    polygon = (
        '<?xml version="1.0"?><problem><judging><testset name="tests">'
        "<time-limit>1000</time-limit><memory-limit>268435456</memory-limit>"
        "<test-count>1</test-count><input-path-pattern>tests/%02d</input-path-pattern>"
        "<answer-path-pattern>tests/%02d.a</answer-path-pattern>"
        '<tests><test method="manual"/></tests></testset></judging></problem>'
    )
    return [
        b"\0name: x\nlimits:\n  time_limit: 2\n  memory: 512\nvalidator_flags: case_sensitive\n",
        b"\0problem_format_version: 2023-07-draft\ntype: pass-fail\nname: {en: x}\n",
        b"\0name: &a [x, *a]\nvalidation: custom interactive\n",
        b"\0validation: ' '\n",
        b"\0a: &a [x, x]\nb: &b [*a, *a]\nvalidation: [*b, *b]\n",
        b"\1" + polygon.encode(),
        b"\1" + polygon.replace("%02d", "%0999999999d").encode(),
        b"\1" + polygon.replace("%02d", "x" * 5000).encode(),
        b"\2grading: custom\nrun_samples: true\n",
        b"\3output_validator_flags: float_tolerance 1e-6\n",
    ]
