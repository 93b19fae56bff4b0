"""Sandbox Fusion's test frameworks over HTTP, for real: the code is the test file."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from http_client import run_code

from verifier.engine import Engine
from verifier.languages import MODES

ALL = os.environ.get("VERIFIER_REQUIRE_LANGUAGES") == "1"

pytestmark = [pytest.mark.namespaces, pytest.mark.timeout(170)]

PYTEST = """import pytest
from helper import three

def test_right():
    assert three() == 3

@pytest.mark.parametrize("n", [3, 4])
def test_each(n):
    assert three() == n

@pytest.mark.skip
def test_never():
    pass
"""
GO = """package main

import "testing"

func add(a, b int) int { return a + b }

func TestRight(t *testing.T) { if add(1, 2) != 3 { t.Fatal("no") } }
func TestWrong(t *testing.T) { if add(1, 2) != 4 { t.Fatal("no") } }
"""
JEST = """import { describe, expect, test } from '@jest/globals';

function add(a: number, b: number): number { return a + b; }

describe('add', () => {
  test('right', () => { expect(add(1, 2)).toBe(3); });
  test('exits', () => { process.exit(0); });
  test('after', () => { expect(1).toBe(1); });
});
"""
JUNIT = """import org.junit.jupiter.api.Test;
import static org.junit.jupiter.api.Assertions.*;

public class AddTest {
    @Test void right() { assertEquals(3, Adder.add(1, 2)); }
    @Test void wrong() { assertEquals(4, Adder.add(1, 2)); }
}
"""


@pytest.fixture
async def served(serve, namespaces):
    engine = Engine(namespaces(), slots=1)
    running = await serve(engine=engine, http="127.0.0.1:0")

    async def run(code, language, **fields):
        if language not in engine.info().toolchains:
            assert not ALL, MODES[language].recipe.remedy
            pytest.skip(MODES[language].recipe.remedy)
        answer = await run_code(running.http, code, language, run_timeout=10, **fields)
        assert answer.status == 200, answer.body
        return answer.json()

    return run


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def statuses(said):
    return {test["name"]: test["status"] for test in said["verifier"]["tests"]}


async def test_pytest(served):
    helper = {"helper.py": encoded("def three():\n    open('out', 'w').write('x')\n    return 3\n")}
    said = await served(PYTEST, "pytest", files=helper, fetch_files=["out"])
    assert (said["status"], said["compile_result"]) == ("Failed", None)
    assert said["run_result"]["return_code"] == 1
    assert "1 failed, 2 passed, 1 skipped" in said["run_result"]["stdout"]
    assert statuses(said) == {
        "test_main.py::test_right": "passed",
        "test_main.py::test_each[3]": "passed",
        "test_main.py::test_each[4]": "failed",
        "test_main.py::test_never": "skipped",
    }
    failed = next(test for test in said["verifier"]["tests"] if test["status"] == "failed")
    assert "assert 3 == 4" in failed["message"]
    assert said["files"] == {"out": encoded("x")}
    fine = await served("def test_one():\n    pass\n", "pytest")
    assert (fine["status"], fine["run_result"]["return_code"]) == ("Success", 0)
    gone = await served("import os\ndef test_one(): os._exit(0)\ndef test_two(): pass\n", "pytest")
    # As there; the tests say more.
    assert (gone["status"], gone["run_result"]["return_code"]) == ("Success", 0)
    assert set(statuses(gone).values()) == {"not_collected"}
    slow = await served("def test_one(): pass\ndef test_two():\n    while True: pass\n", "pytest")
    assert slow["run_result"]["status"] == "TimeLimitExceeded"
    assert [*statuses(slow).values()] == ["passed", "not_collected"]


async def test_go_test(served):
    other = {"other.go": encoded("package other\n")}
    said = await served(GO, "go_test", files=other)
    assert (said["status"], said["compile_result"]) == ("Failed", None)
    assert said["run_result"]["return_code"] == 1
    assert "--- FAIL: TestWrong (" in said["run_result"]["stdout"]
    assert "FAIL\tcommand-line-arguments" in said["run_result"]["stdout"]
    assert statuses(said) == {"TestRight": "passed", "TestWrong": "failed"}
    broken = await served(GO.replace("a + b", "a +"), "go_test")
    assert (broken["status"], broken["run_result"]["return_code"]) == ("Failed", 1)
    assert "main_test.go:5:37" in broken["run_result"]["stderr"]
    assert set(statuses(broken).values()) == {"not_collected"}


async def test_jest(served):
    said = await served(JEST, "jest")
    assert statuses(said) == {
        "add > right": "passed",
        "add > exits": "not_collected",
        "add > after": "not_collected",
    }
    fine = await served(JEST.replace("process.exit(0)", ""), "jest")
    assert (fine["status"], fine["run_result"]["return_code"]) == ("Success", 0)
    assert "3 passed" in fine["run_result"]["stderr"]


async def test_junit(served):
    adder = "public class Adder { static int add(int a, int b) { return a + b; } }"
    said = await served(JUNIT, "junit", files={"Adder.java": encoded(adder)})
    assert said["status"] == "Failed"
    assert said["compile_result"]["return_code"] == 0
    assert said["run_result"]["return_code"] == 1
    assert "1 tests failed" in said["run_result"]["stdout"]
    assert statuses(said) == {"AddTest.right": "passed", "AddTest.wrong": "failed"}
    broken = await served(JUNIT, "junit")
    assert (broken["compile_result"]["return_code"], broken["run_result"]) == (1, None)
    assert set(statuses(broken).values()) == {"not_collected"}
