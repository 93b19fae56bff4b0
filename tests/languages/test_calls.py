"""Suites that call a function, in each language that has a driver, in real sandboxes."""

from __future__ import annotations

import json
import os

import pytest
import pytest_asyncio

from tests.languages.called import ANSWERS
from verifier.engine import Engine
from verifier.languages import RECIPES
from verifier.testcases import load_suite
from verifier.types import Limits, Outcome, ScoreTask, Status

ALL = os.environ.get("VERIFIER_REQUIRE_LANGUAGES") == "1"
LIMITS = Limits(memory_bytes=1024 * 1024 * 1024)
PASS, WRONG, FAIL = Status.ACCEPTED, Status.WRONG_ANSWER, Status.RUNTIME_ERROR

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]
every_language = pytest.mark.parametrize("name", ANSWERS)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(namespaces):
    made = Engine(namespaces(), slots=1, default_limits=LIMITS)
    await made.start()
    yield made
    await made.close()


async def call(engine, name, source, fn_name, *cases):
    """The result of calling a function with each case's arguments."""
    if name not in engine.info().toolchains:
        assert not ALL or engine.sandbox.name == "docker", f"no toolchain: {RECIPES[name].remedy}"
        pytest.skip(f"no toolchain: {RECIPES[name].remedy}")
    suite = load_suite(
        {
            "fn_name": fn_name,
            "inputs": ["\n".join(map(json.dumps, arguments)) for arguments, _ in cases],
            "outputs": [json.dumps(expected) for _, expected in cases],
        }
    )
    result = await engine.score(ScoreTask(f"```{name}\n{source}\n```", suite, language=name))
    assert result.outcome is Outcome.SCORED, result
    return result


def statuses(result):
    return [case.status for case in result.cases]


@pytest.mark.namespaces
@every_language
async def test_two_sum(engine, name):
    other = "twoSum" if name == "rust" else "two_sum"
    result = await call(
        engine,
        name,
        ANSWERS[name].two_sum,
        other,
        ([[2, 7, 11, 15], 9], [0, 1]),
        ([[3, 2, 4], 6], [1, 2]),
        ([[3, 3], 6], [1, 0]),
        ([[], 6], [0, 1]),
        ([[3, 3]], [0, 1]),
        (["three", 6], [0, 1]),
    )
    assert statuses(result) == [PASS, PASS, WRONG, FAIL, FAIL, FAIL], result
    assert [case.stdout for case in result.cases[:2]] == [b"looking\n"] * 2
    assert "no pair" in result.cases[3].message


@pytest.mark.namespaces
@every_language
async def test_types(engine, name):
    text = 'a "quoted" \\ line\n\t\x01 \u00e9 \u4e16 \U0001f600'
    big = 9007199254740993
    rows = [["a", "b"], [], ["c"]]
    # Of an absent node in a list of anything, these do not know what it is.
    no_node = None if name in ("javascript", "typescript") else []
    result = await call(
        engine,
        name,
        ANSWERS[name].mixed,
        "mixed",
        (
            [big, 1.0, True, text, rows, [1, 2], [1, None, 3, 4]],
            [big + 1, 1 / 3, False, f"{text}!", rows[::-1], [1, 2], [1, None, 3, 4]],
        ),
        (
            [-(2**63), 1e300, False, "", [], [], []],
            [1 - 2**63, 1e300 / 3, True, "!", [], no_node, no_node],
        ),
        ([1, 2, True, "", [[]], [0], [0]], [2, 2 / 3, True, "!", [[]], [0], [0]]),
    )
    assert statuses(result) == [PASS, PASS, WRONG], result


@pytest.mark.namespaces
@every_language
async def test_a_function_that_returns_nothing_answers_with_its_argument(engine, name):
    result = await call(
        engine,
        name,
        ANSWERS[name].in_place,
        "rotate",
        ([[1, 2, 3]], [3, 1, 2]),
        ([[1]], [1]),
        ([[1, 2, 3]], [1, 2, 3]),
    )
    assert statuses(result) == [PASS, PASS, WRONG], result
    # Where null is expected, that is what counts, as of Python's functions that return None.
    cases = [([[1, 2]], None), ([[1]], [1])]
    result = await call(engine, name, ANSWERS[name].in_place, "rotate", *cases)
    assert statuses(result) == [PASS, WRONG], result


@pytest.mark.namespaces
@every_language
async def test_a_function_that_is_not_there(engine, name):
    result = await call(engine, name, ANSWERS[name].in_place, "nowhere", ([[1]], [1]))
    assert statuses(result) == [FAIL]
    assert result.cases[0].message == "there is no function nowhere"


@pytest.mark.namespaces
@every_language
async def test_a_compile_error_has_the_answers_own_line(engine, name):
    result = await call(engine, name, ANSWERS[name].broken, "twoSum", ([[1], 2], [1]))
    assert statuses(result) == [Status.COMPILE_ERROR]
    assert ANSWERS[name].broken_says in result.cases[0].message


@pytest.mark.namespaces
@pytest.mark.parametrize("name", [n for n, a in ANSWERS.items() if a.hostile])
async def test_what_a_program_writes_to_the_channel_itself(engine, name):
    """Two records are none; a channel that is closed leaves the descriptor of the driver."""
    cases = [([[1], target], [0, 1]) for target in (0, 1, 2, 5)]
    result = await call(engine, name, ANSWERS[name].hostile, "twoSum", *cases)
    # The last is a claim, right by itself: who knows what is expected needs no sandbox.
    assert statuses(result) == [PASS, FAIL, PASS, PASS], result


@pytest.mark.namespaces
async def test_a_flood_of_the_channel(engine):
    cases = [([[1], 4], [0, 1]), ([[1], 3], [0, 1]), ([[1], 0], [0, 1])]
    result = await call(engine, "cpp", ANSWERS["cpp"].hostile, "twoSum", *cases)
    assert statuses(result)[0] in (FAIL, WRONG, Status.OUTPUT_LIMIT), result
    assert statuses(result)[1:] == [FAIL, PASS]


@pytest.mark.namespaces
async def test_a_language_without_calls_says_which_have_them(engine):
    if "bash" not in engine.info().toolchains:
        pytest.skip("no toolchain: bash")
    suite = load_suite({"fn_name": "f", "inputs": ["1"], "outputs": ["1"]})
    result = await engine.score(ScoreTask("```bash\nf() { :; }\n```", suite, language="bash"))
    assert result.outcome is Outcome.INFRA_ERROR
    assert "call suites are not implemented for bash; they are for python" in result.error
    assert all(name in result.error for name in ANSWERS)


@pytest.mark.parametrize("name", ["cpp", "java"])
async def test_in_each_backend(shared_engine, name):
    result = await call(
        shared_engine, name, ANSWERS[name].two_sum, "twoSum", ([[2, 7], 9], [0, 1]), ([[1], 1], [])
    )
    assert statuses(result) == [PASS, FAIL], result


@pytest.mark.namespaces
@pytest.mark.parametrize(
    ("name", "source", "arguments", "expected"),
    [
        ("cpp", "string_view f(string_view s) { return s.substr(1); }", ["abc"], "bc"),
        ("typescript", "export function f(a: number, b?: string) { return a; }", [1], 1),
        (
            "rust",
            "pub fn f<'a>(s: &'a str) -> Result<Vec<&'a str>, String> { Ok(vec![s]) }",
            ["a"],
            ["a"],
        ),
    ],
)
async def test_a_signature(engine, name, source, arguments, expected):
    assert statuses(await call(engine, name, source, "f", (arguments, expected))) == [PASS]


@pytest.mark.namespaces
async def test_an_error_in_a_result_is_no_value(engine):
    source = 'fn f(a: i32) -> Result<i32, String> { if a > 0 { Ok(a) } else { Err("low".into()) } }'
    result = await call(engine, "rust", source, "f", ([1], 1), ([0], None))
    assert statuses(result) == [PASS, WRONG]
    assert "low" in result.cases[1].message
