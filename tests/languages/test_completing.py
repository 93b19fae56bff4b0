"""What is put around a source so that its function can be called, without running any of it."""

from __future__ import annotations

import time

import pytest

from verifier.engine.artifacts import artifact_key
from verifier.languages import RECIPES, get
from verifier.languages.calls.base import spellings
from verifier.languages.calls.text import closing, code_of, outermost, split
from verifier.types import Program

CALLED = [name for name, recipe in RECIPES.items() if recipe.calls is not None]


def test_which_languages_have_calls():
    assert {"cpp", "java", "javascript", "typescript", "go", "rust"} <= set(CALLED)
    with pytest.raises(ValueError, match="bash has no calls"):
        get("bash").called(b"", "f", 1)


def test_spellings():
    assert spellings("twoSum") == ("twoSum", "two_sum", "TwoSum")
    assert spellings("two_sum") == ("two_sum", "twoSum", "TwoSum")
    assert spellings("f") == ("f", "F")
    assert spellings('f"); system("x') == ()
    assert spellings("a" * 300) == ()


def test_looking_at_code():
    source = 'int f(int a) { return g("}") /* } */ + g(a); } // int g(\nint g(int);'
    code = code_of(source)
    assert len(code) == len(source)
    assert [m.start() for m in outermost(code, r"\bg\s*(?=\()")] == [source.rindex("g(")]
    assert closing(code, source.index("{")) == source.index("; }") + 2
    assert split("a: Map<string, number[]>, b: (x: int) => int, c") == [
        "a: Map<string, number[]>",
        "b: (x: int) => int",
        "c",
    ]
    assert split("  ") == []


@pytest.mark.parametrize("name", CALLED)
def test_a_program_and_its_call_are_two_artifacts(name):
    recipe, source = get(name), b"int f(int a) { return a; }"
    made = recipe.called(source, "f", 1)
    again = recipe.called(source, "g", 1)
    plain = artifact_key(Program(name, source), recipe, "1")
    called = artifact_key(Program(name, made.source), made.recipe, "1", made.files)
    other = artifact_key(Program(name, again.source), again.recipe, "1", again.files)
    assert plain != called
    # Java looks the name up in the run: its artifact answers for any.
    assert (called == other) == (name == "java")
    assert made.recipe.calls is recipe.calls


@pytest.mark.parametrize("name", ["cpp", "java", "javascript", "typescript", "go", "rust"])
@pytest.mark.parametrize(
    "source",
    [
        b"{" * 200_000,
        b"(" * 200_000,
        b"f(" * 100_000,
        b"struct Solution " * 20_000,
        b"impl Solution " * 20_000,
        b"fn f<" * 40_000,
        b"/**" * 60_000,
        b"import " * 30_000,
        b"'" * 200_000,
        b'"\\' * 100_000,
        b"f = (" * 40_000,
        b"heap, " * 30_000,
        b"\xff\x00" * 1000,
        b"fn f(a: i32) -> " + b"\n" * 60_000,
        b"var s = '" + b"/** " * 15_000 + b"'; function f(a) {}",
    ],
    ids=lambda source: repr(source[:12]),
)
def test_no_source_takes_long(name, source):
    began = time.process_time()
    get(name).called(source, "f", 1)
    assert time.process_time() - began < 5


def test_a_byte_order_mark_and_cr_lf():
    made = get("go").called(b"\xef\xbb\xbffunc f(a int) int {\r\n return a }", "f", 1)
    assert made.source == b"package main; func f(a int) int {\n return a }"


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("export default function f() {}", "function f() {}"),
        ("const f = 1;\nexport default f;", "const f = 1;\nf;"),
        ("const f = 1;\nexport { f, g as h };", "const f = 1;\n;"),
        ("export {\n  f,\n};\n", "\n\n;\n"),
        ("export default f(1);", "export default f(1);"),
    ],
)
def test_a_script_exports_nothing(source, left):
    made = get("javascript").called(source.encode(), "f", 1).source.decode()
    assert made.startswith(f"{left}\n;module.exports")


def test_what_is_there_is_not_defined_again():
    own = b"struct TreeNode { int val; };\nint f(TreeNode* a, ListNode* b) { return 0; }"
    entry = get("cpp").called(own, "f", 2).files["call.cpp"]
    assert b"struct ListNode" in entry
    assert b"struct TreeNode" not in entry
    assert b"using namespace std;" in entry
    headers = b"#include <vector>\nint f(std::vector<int> a) { return 0; }"
    assert b"using namespace" not in get("cpp").called(headers, "f", 1).files["call.cpp"]
    assert b"struct Solution;" in get("rust").called(b"impl Solution { fn f() {} }", "f", 0).source
    unit = b"struct Solution;\nimpl Solution { fn f() {} }"
    assert get("rust").called(unit, "f", 0).source.count(b"struct Solution;") == 1


@pytest.mark.parametrize(
    ("source", "kinds", "result"),
    [
        ("var f = function(head, k) { head.next; }", '["list", ""]', '""'),
        ("var f = function(head, k) { }", '["", ""]', '""'),
        ("const f = root => root.left", '["tree"]', '""'),
        (
            "/** @param {ListNode[]} x\n * @return {ListNode} */\nvar f = function(x) {}",
            '["list[]"]',
            '"list"',
        ),
        (
            "function f(a: (TreeNode | null)[], b?: number): TreeNode { f(a); }",
            '["tree[]", ""]',
            '"tree"',
        ),
        ("f(1);\nclass Solution { f(x: ListNode | null): void {} }", '["list"]', '""'),
    ],
)
def test_what_is_a_node(source, kinds, result):
    made = get("typescript").called(source.encode(), "f", 1).source.decode()
    assert f"kinds: {kinds},\n  result: {result}," in made
