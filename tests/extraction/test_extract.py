"""What models write, and the program that must come out of it."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.errors import RequestError
from verifier.extraction import POLICIES, extract
from verifier.extraction.scan import MAX_EVENTS, scan

GOOD = "a, b = map(int, input().split())\nprint(a + b)\n"
DRAFT = "a, b = map(int, input().split())\nprint(a - b)\n"
CPP = "#include <iostream>\nint main() { std::cout << 1; }\n"


def py(code: str = GOOD, tag: str = "python") -> str:
    return f"```{tag}\n{code}```\n"


def indented(margin: str) -> str:
    return textwrap.indent(py(), margin)


def source(response: str | bytes, language: str | None = "python", **options: str) -> str | None:
    program = extract(response, language=language, **options).program
    return None if program is None else program.source.decode().strip()


FOUND = {
    "plain": py(),
    "prose around": f"Sure!\n\n{py()}\nThat is all.",
    "self correction": f"{py(DRAFT)}\nWait:\n\n{py()}",
    "text block after": f"{py()}\n```text\n5\n```\n",
    "output block after": f"{py()}\n```output\n5\n```\n",
    "bash block after": f"{py()}\nRun it:\n```bash\npython3 main.py\n```\n",
    "json block after": f'{py()}\n```json\n{{"a": 1}}\n```\n',
    "console block after": f"{py()}\n```console\n$ python main.py\n```\n",
    "other language after": f"{py()}\n{py(CPP, 'cpp')}",
    "other language without a recipe after": f"{py()}\n{py('fn main() {}', 'rust')}",
    "untagged output after": f"{py()}\n```\n5\n```\n",
    "untagged only": f"Here.\n\n```\n{GOOD}```\n",
    "untagged with sample output after": f"```\n{GOOD}```\nprints\n```\n5\n```\n",
    "unknown word as tag": py(tag="solution"),
    "file name as tag": py(tag="main.py"),
    "tag and file name": py(tag="python:main.py"),
    "attributes": py(tag='python title="main.py" linenums="1"'),
    "pandoc attributes": py(tag="{.python .numberLines}"),
    "knitr attributes": py(tag="{python, echo=FALSE}"),
    "lang=": py(tag="lang=python"),
    "language-": py(tag="language-python"),
    "blank before the tag": py(tag=" python"),
    "upper case": py(tag="PYTHON"),
    "python3": py(tag="Python3"),
    "py": py(tag="py"),
    "python3.11": py(tag="python3.11"),
    "crlf": f"Here:\n\n{py()}".replace("\n", "\r\n"),
    "tildes": f"~~~python\n{GOOD}~~~\n",
    "tildes around backticks": f"~~~python\n{GOOD}x = '''\n```\n'''\n~~~\n".replace(
        "x = '''\n```\n'''\n", ""
    ),
    "five backticks": f"`````python\n{GOOD}`````\n",
    "longer outer fence": f"````markdown\n{py(DRAFT)}````\n\n{py()}",
    "longer closer": f"```python\n{GOOD}`````\n",
    "no closer": f"Answer:\n\n```python\n{GOOD}",
    "no final line end": f"```python\n{GOOD}".rstrip(),
    "closer with special token": f"```python\n{GOOD}```<|im_end|>",
    "closer with end of text": f"```python\n{GOOD}```</s>",
    "closer with DeepSeek's token": f"```python\n{GOOD}```<\uff5cend\u2581of\u2581sentence\uff5c>",
    "closer with answer tag": f"<answer>\n```python\n{GOOD}```</answer>",
    "closer with remark": f"```python\n{GOOD}``` This is linear.\n\nIt prints:\n```\n5\n```\n",
    "closer at the end of the code": f"```python\n{GOOD.rstrip()}```\nDone.",
    "closer at the end of the code, twice": (
        f"```python\n{DRAFT.rstrip()}```\nNo:\n```python\n{GOOD.rstrip()}```"
    ),
    "opener at the end of prose": f"The code: ```python\n{GOOD}```\n",
    "opener right behind inline code": f"Use `input` ```python\n{GOOD}```\n",
    "untagged block whose first line is the tag": f"```\npython\n{GOOD}```\n",
    "closer that is indented": f"```python\n{GOOD}    ```\nThat is all.",
    "few-shot marks": f"[BEGIN]\n{GOOD}[DONE]",
    "marks of the language": f"[PYTHON]\n{GOOD}[/PYTHON]",
    "draft's fence before the tag": f"<think>a</think>{py(DRAFT).rstrip()}</think>{py()}",
    "untagged opener at the end of prose": f"The code:```\n{GOOD}```\n",
    "forgotten closer": f"```python\n{DRAFT}\nNo, this:\n```python\n{GOOD}```\n",
    "in a list item": "1. Read:\n\n" + indented("   "),
    "on the line of a list item": "- " + indented("  ").lstrip(),
    "with tabs": indented("\t"),
    "in a quotation": indented("> "),
    "code indented in its fence": py(textwrap.indent(GOOD, "    ")),
    "bare": GOOD,
    "bare with special token": f"{GOOD}<|im_end|>",
    "bare in answer tags": f"<answer>\n{GOOD}</answer>",
    "bare with byte order mark": f"\ufeff{GOOD}",
    "lone closer": f"{GOOD}```\n",
    "lone closer and prose": f"{GOOD}```\nThis adds the two numbers.\n",
    "lone closer and sample output": f"{GOOD}```\nSample output:\n```\n5\n```\n",
    "lone closer and usage": f"{GOOD}```\nUsage:\n```bash\npython3 main.py\n```\n",
    "lone closer and token": f"{GOOD}```<|im_end|>",
    "prefilled fence, tag in the response": f"python\n{GOOD}```\n",
    "glued lone closer": f"{GOOD.rstrip()}```",
    "one line": "```a, b = map(int, input().split()); print(a + b)```",
    "broken last block": f"{py()}\n{py('print(a +')}",
    "empty last block": f"{py()}\n```python\n```\n",
    "comment in the last block": f"{py()}\n{py('# your code here')}",
    "untagged rescues a broken tagged one": f"```\n{GOOD}```\n{py('print((')}",
    "inside a markdown block": f"````markdown\n# Answer\n{py()}````\n",
}
ONE_LINE = "a, b = map(int, input().split()); print(a + b)"


@pytest.mark.parametrize("name", FOUND)
def test_finds_the_program(name: str) -> None:
    assert source(FOUND[name]) == (ONE_LINE if name == "one line" else GOOD.strip())


REASONED = {
    "drafts": f"<think>\nMaybe\n{py(DRAFT)}\n</think>\n\n{py()}",
    "only the closer": f"I could subtract.\n{py(DRAFT)}\nno.\n</think>\nFinal:\n{py()}",
    "thinking": f"<thinking>\n{py(DRAFT)}</thinking>\n{py()}",
    "reasoning": f"<reasoning>\n{py(DRAFT)}</reasoning>\n{py()}",
    "reflection": f"<reflection>{py(DRAFT)}</reflection>{chr(10)}{py()}",
    "scratchpad": f"<scratchpad>\n{py(DRAFT)}</scratchpad>\n{py()}",
    "thought": f"<thought>\n{py(DRAFT)}</thought>\n{py()}",
    "upper case": f"<THINK>\n{py(DRAFT)}</THINK>\n{py()}",
    "begin_of_thought": f"<|begin_of_thought|>\n{py(DRAFT)}<|end_of_thought|>\n{py()}",
    "seed": f"<seed:think>\n{py(DRAFT)}</seed:think>\n{py()}",
    "mistral": f"[THINK]\n{py(DRAFT)}[/THINK]\n{py()}",
    "kimi": f"◁think▷\n{py(DRAFT)}◁/think▷\n{py()}",
    "harmony": (
        f"<|channel|>analysis<|message|>{py(DRAFT)}<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>\n{py()}"
    ),
    "two sections": f"<think>a</think>\n{py(DRAFT)}\n<think>b</think>\n{py()}",
    "closer twice": f"<think>\n{py(DRAFT)}</think>\n{py(DRAFT)}</think>\n{py()}",
    "unclosed draft": f"<think>\n```python\n{DRAFT}\n</think>\n{py()}",
    "unclosed draft, only the closer": f"Try\n```python\n{DRAFT}\nno!</think>\n{py()}",
    "unclosed draft, untagged answer": (
        f"Try\n```python\n{DRAFT}\n</think>\nFinal:\n```\n{GOOD}```\n"
    ),
    "closer behind a closing fence": f"```python\n{DRAFT}```</think>\n{py()}",
    "code on the closer's line": f"hm</think>{py()}",
    "bare code": f"<think>hm</think>\n{GOOD}",
    "quoted in the reasoning": f"<think>I must write '</think>' once.\n{py(DRAFT)}</think>\n{py()}",
    "opener in prose afterwards": f"<think>a</think>\n{py()}\nI used the `<think>` section.",
}


@pytest.mark.parametrize("name", REASONED)
def test_cuts_reasoning(name: str) -> None:
    found = extract(REASONED[name], language="python")
    assert found.program is not None
    assert found.program.source.decode().strip() == GOOD.strip()


PRINTS_TAG = {
    "string": 'print("</think>")\n',
    "string of several lines": 'print("""\n</think>\n""")\n',
    "regular expression": "import re\nprint(re.sub(r'<think>.*?</think>', '', input()))\n",
    "comment": "x = 1  # drop all up to </think> here\nprint(x)\n",
}


@pytest.mark.parametrize("name", PRINTS_TAG)
@pytest.mark.parametrize("before", ["", "Sure.\n", "<think>\nhm\n</think>\n"])
@pytest.mark.parametrize("after", ["", "\nIt prints `</think>`.", "\n```text\n</think>\n```\n"])
def test_a_tag_in_the_program_stays(name: str, before: str, after: str) -> None:
    code = PRINTS_TAG[name]
    assert source(f"{before}{py(code)}{after}") == code.strip()


def test_a_tag_in_bare_code_stays() -> None:
    assert source('print("</think>")\n') == 'print("</think>")'


NOTHING = {
    "draft's fence before the only tag": f"{py().rstrip()}</think>\nI do not know.",
    "empty": "",
    "blank": " \n\t\n",
    "prose": "I cannot solve this.",
    "one word": "Hello",
    "prose that parses": "Yes: no",
    "number": "42",
    "unclosed reasoning": f"<think>\n{py()}\nbut I am not sure",
    "unclosed reasoning after a closed one": f"<think>a</think>\n<think>\n{py()}",
    "wrong language": py(CPP, "cpp"),
    "text only": "```text\nread, add, print\n```\n",
    "untagged output only": "The answer is\n```\n5\n```\n",
    "empty block": "```python\n```\n",
    "blank block": "```python\n\n  \n```\n",
    "fences only": "```\n```\n",
    "doctest session": "```pycon\n>>> 1 + 1\n2\n```\n",
}


@pytest.mark.parametrize("name", NOTHING)
def test_no_code(name: str) -> None:
    found = extract(NOTHING[name], language="python")
    assert found.program is None
    assert found.extraction.reason
    assert found.extraction.language == ""


@pytest.mark.parametrize(
    "response",
    [
        "```python\na, b = map(int, input().split())\nif a > b:\n    print(a +",
        "```\nif a > b:\n    print(a +",
    ],
)
def test_truncated_code_is_kept(response: str) -> None:
    """It becomes a COMPILE_ERROR: the model's failure."""
    assert source(response) is not None


def test_entry_point_beats_position_and_tag() -> None:
    solution = "def add(a, b):\n    return a + b\n"
    demo = "print(add(1, 2))\n"
    assert source(py(solution) + py(demo), entry_point="add") == solution.strip()
    assert source(f"```\n{solution}```\n{py(demo)}", entry_point="add") == solution.strip()
    assert source(py(solution) + py(demo)) == demo.strip()
    method = "class Solution:\n    def add(self, a, b):\n        return a + b\n"
    assert source(py(method) + py(demo), entry_point="Solution.add") == method.strip()
    assert (
        source(py("add = lambda a, b: a + b\n") + py(demo), entry_point="add")
        == "add = lambda a, b: a + b"
    )


def test_fences_in_a_docstring_are_the_programs_own() -> None:
    code = 'def f():\n    """\n    ```\n    5\n    ```\n    """\n' + GOOD
    assert source(py(code)) == code.strip()


def test_a_definition_beats_an_import() -> None:
    solution = "def gcd(a, b):\n    return a if b == 0 else gcd(b, a % b)\n"
    demo = "from solution import gcd\nprint(gcd(4, 6))\n"
    assert source(py(solution) + py(demo), entry_point="gcd") == solution.strip()
    assert source(py(demo) + py(solution), entry_point="gcd") == solution.strip()
    library = "from math import gcd\n"
    assert source(py("print(1)\n") + py(library), entry_point="gcd") == library.strip()


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("cpp", "class Solution {\npublic:\n    int twoSum(int a) { return a; }\n};"),
        ("rust", "impl Solution {\n    pub fn two_sum(a: i32) -> i32 { a }\n}"),
        ("go", "func twoSum(a int) int { return a }"),
        ("typescript", "const twoSum = (a: number): number => a;"),
    ],
)
def test_entry_point_however_a_language_spells_it(language: str, code: str) -> None:
    demo = "```\nmain() { f(1); }\n```\n"
    for fence in (f"```{language}\n{code}\n```\n", f"```\n{code}\n```\n"):
        for name in ("twoSum", "two_sum"):
            assert source(fence + demo, language=language, entry_point=name) == code


def test_entry_point_that_nothing_defines_changes_nothing() -> None:
    assert source(py(DRAFT) + py(), entry_point="nowhere") == GOOD.strip()


def test_main_is_the_entry_point_of_compiled_languages() -> None:
    response = py(CPP, "cpp") + py("std::cout << 1;\n", "cpp")
    assert source(response, "cpp") == CPP.strip()


def test_other_languages() -> None:
    assert source(py(CPP, "c++17"), "cpp") == CPP.strip()
    assert source(py(CPP, "c"), "cpp") == CPP.strip()
    assert source(py(CPP, "c") + py("int main() {}", "cpp"), "cpp") == "int main() {}"
    assert source(f"```\n{CPP}```", "C++") == CPP.strip()
    assert source(CPP, "cpp") == CPP.strip()
    assert source(f"Use #include <iostream>\n{CPP}", "cpp") is None
    java = "import java.util.*;\npublic class A { public static void main(String[] a) {} }\n"
    assert source(py(java, "Java"), "java") == java.strip()
    assert source(java, "java") == java.strip()
    js = "const x = require('fs').readFileSync(0, 'utf8');\nconsole.log(x);\n"
    assert source(py(js, "js"), "javascript") == js.strip()
    assert source(js, "node") == js.strip()
    assert source("I would use console.log(x) here.", "javascript") is None


@pytest.mark.parametrize(
    ("response", "language"),
    [
        (py(), "python"),
        (py(CPP, "cpp"), "cpp"),
        (f"```\n{CPP}```", "cpp"),
        (f"```\n{GOOD}```", "python"),
        (GOOD, "python"),
        (f"{py()}\n```rust\nfn main() {{}}\n```", "python"),
    ],
)
def test_language_comes_from_the_response(response: str, language: str) -> None:
    found = extract(response)
    assert found.program is not None
    assert found.program.language == found.extraction.language == language


def test_policies() -> None:
    short, long = "print(1)\n", "# a longer one\nprint(2)\n"
    response = py(short) + py(long) + py("print(3)\n")
    assert source(response) == "print(3)"
    assert source(response, policy="first") == "print(1)"
    assert source(response, policy="longest") == long.strip()


@pytest.mark.parametrize(
    ("response", "verl_sf", "prime"),
    [
        (py(DRAFT) + py(), f"\n{GOOD}", f"\n{GOOD}"),
        (f"```\n{GOOD}```", f"\n{GOOD}", ""),
        (f"```py\n{GOOD}```", GOOD, ""),
        (f"```c++\n{CPP}```", f"c++\n{CPP}", ""),
        (GOOD, None, GOOD),
        (f"{GOOD}```\n", "\n", GOOD),
        (f"```python\n{GOOD}", f"\n{GOOD}", f"\n{GOOD}"),
        ("x ```python", "", ""),
        ("", None, ""),
        ("```x", "x", ""),
    ],
)
def test_policies_of_verl(response: str, verl_sf: str | None, prime: str) -> None:
    """By hand from verl 0.9.1: `split("```python")[-1].split("```")[0]` and its surroundings."""
    got = [extract(response, language="python", policy=p).program for p in ("verl-sf", "prime")]
    assert [g and g.source.decode() for g in got] == [verl_sf, prime]


@given(
    st.lists(
        st.sampled_from(["```python", "```", "py\n", "\n", "x = 1", " ", "`", "A"]), max_size=12
    )
)
def test_policies_of_verl_hold_for_any_text(parts: list[str]) -> None:
    text = "".join(parts)
    expected = text.split("```python")[-1].split("```")[0]
    prime = extract(text, policy="prime").program
    assert prime is not None
    assert prime.source.decode() == expected
    if "```python" in text:
        want = expected
    elif "```" in text:
        want = text.split("```")[1]
        first, newline, rest = want.partition("\n")
        want = rest if newline and first.strip().isalpha() else want
    else:
        assert extract(text, policy="verl-sf").program is None
        return
    program = extract(text, policy="verl-sf").program
    assert program is not None
    assert program.source.decode() == want


def test_facts() -> None:
    found = extract(
        f"<think>a</think>\n```text\nx\n```\n{py(DRAFT)}{py()}```text\ny\n```", language="py"
    )
    facts = found.extraction
    assert found.program is not None
    assert found.program.extraction == facts
    assert (facts.language, facts.block_index, facts.block_count) == ("python", 2, 4)
    assert facts.reasoning_cut == len("<think>a</think>")
    assert facts.reason == "the last python block"
    assert "tagged cpp" in extract(py(CPP, "cpp"), language="python").extraction.reason


def test_bad_requests() -> None:
    with pytest.raises(RequestError, match="did you mean python"):
        extract("", language="pyhton")
    with pytest.raises(RequestError, match="extraction_policy"):
        extract("", policy="best")


def test_bytes_and_surrogates() -> None:
    assert source(py().encode()) == GOOD.strip()
    assert source(py("print(1)  # \ud83d\n")) == "print(1)  # \ufffd"
    assert source(py("print(1)  # \ud83d\ude00\n")) == "print(1)  # \U0001f600"
    assert source(b"```python\nprint(1)  # \xff\n```") == "print(1)  # \ufffd"


def test_nul_does_not_parse_and_is_kept() -> None:
    program = extract(py("print(1) # \0\n"), language="python").program
    assert program is not None
    assert b"\0" in program.source


def test_no_warning_for_invalid_escapes() -> None:
    """Warnings are errors in this test run."""
    assert source(py("print('\\d' is 1)\n")) == "print('\\d' is 1)"


LONG = 1_000_000
HOSTILE = {
    "backticks": "`" * LONG,
    "fences": "```\n" * (LONG // 4),
    "tagged fences": "```python\nprint(1)\n```\n" * (LONG // 24),
    "openers": "<think>" * (LONG // 7),
    "closers": "</think>" * (LONG // 8),
    "closers on lines": "</think>\n" * (LONG // 9),
    "closers in one block": "```python\n" + "</think>x" * 20_000,
    "closers in a string": '```python\n"""' + "\n</think>" * 20_000,
    "angle brackets": "<" * LONG,
    "blanks": " " * LONG,
    "blank lines": " \n" * (LONG // 2),
    "quotation marks": "> " * (LONG // 2),
    "parentheses": "(" * LONG,
    "deep sum": py("x = " + "1+" * 100_000 + "1\n"),
    "deep call": py("x = f" + "()" * 100_000 + "\n"),
    "deep index": py("x = a" + "[0]" * 60_000 + "\n"),
    "deep minus": py("x = " + "-" * 200_000 + "1\n"),
    "broken blocks": "```\nx = (\n```\n" * (LONG // 14),
    "public class": "public class " * (LONG // 13),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("language", ["python", "cpp", None])
def test_hostile_responses_are_answered(name: str, language: str | None) -> None:
    """Whether the time is linear is measured by hand; quadratic time would not end here."""
    extract(HOSTILE[name], language=language)


def test_events_are_bounded() -> None:
    """The scanner's loop, the only part in Python, sees a bounded number of fences and tags."""
    assert not scan("```\n" * MAX_EVENTS).overflow
    assert scan("```\n" * (MAX_EVENTS + 1)).overflow
    assert "not an answer" in extract("<think>" * (MAX_EVENTS + 1)).extraction.reason


PIECES = st.sampled_from(
    [
        "```", "````", "~~~", "`", "python", "cpp", "text", "\n", "\n\n", " ", "    ", "> ",
        "- ", "1. ", "\r\n", "\\",
        "<think>", "</think>", "</thinking>", "[/THINK]", "<|im_end|>", "</s>", "<answer>", '"',
        "'''", '"""', "{.py}",
        "print(1)", "x = 1", "def f():\n    return 1", "Hello", "#include <a>", "(", "\0",
        "\ud800", "\ufeff",
    ]
)  # fmt: skip


@given(
    st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)),
    st.sampled_from([None, "python", "cpp", "java", "javascript", "c"]),
    st.sampled_from(POLICIES),
    st.sampled_from([None, "f", "Solution.f"]),
)
def test_never_raises_and_source_comes_from_the_response(
    response: str, language: str | None, policy: str, entry_point: str | None
) -> None:
    found = extract(response, language=language, policy=policy, entry_point=entry_point)
    facts = found.extraction
    assert facts.reason
    if found.program is None:
        return
    assert language in (None, found.program.language)
    assert facts.block_index is None or 0 <= facts.block_index < facts.block_count
    text = response.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    for line in found.program.source.decode().split("\n"):
        assert line.strip() in text


@given(st.binary())
def test_any_bytes(response: bytes) -> None:
    extract(response, language="python")


@given(
    st.text(alphabet="abc =()\n#", max_size=80).filter(lambda t: "```" not in t and "~~~" not in t)
)
def test_a_well_formed_block_comes_back_as_it_is(extra: str) -> None:
    code = f"x = 1\n# {extra.replace(chr(10), ' ')}\nprint(x)\n"
    program = extract(f"Text\n\n```python\n{code}```\n\nMore text.", language="python").program
    assert program is not None
    assert program.source.decode() == code


@pytest.mark.parametrize(
    "end",
    ["<|im_end|>", "\n<|endoftext|>", "</s>", "<\uff5cend\u2581of\u2581sentence\uff5c>",
     "<end_of_turn>\n", "<|im_end|>" + "<|endoftext|>" * 5000],
)  # fmt: skip
def test_special_tokens_at_the_end_of_an_open_block(end: str) -> None:
    found = extract("```python\nprint(int(input()) * 2)" + end)
    assert found.program is not None
    assert found.program.source.strip() == b"print(int(input()) * 2)"


def test_code_that_ends_like_a_tag_is_kept() -> None:
    found = extract("```cpp\nint main() {}\n#include <vector>", language="cpp")
    assert found.program is not None
    assert found.program.source.rstrip().endswith(b"<vector>")


@pytest.mark.parametrize("fragment", ["a + b", "5", "nums", "x: int"])
def test_a_fragment_that_does_nothing_is_no_answer(fragment):
    """An explanation behind the program, tagged as code."""
    program = "n = int(input())\nprint(n * 2)"
    text = f"```python\n{program}\n```\nThe sum is\n```python\n{fragment}\n```\n"
    assert extract(text).program.source.decode().strip() == program
    alone = f"```python\n{fragment}\n```\n"
    assert extract(alone).program is not None
