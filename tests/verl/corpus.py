"""The rows on which our scorers are held against verl's. All of them are our own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from verifier.types import LimitOverrides

MIB = 1024 * 1024


@dataclass(frozen=True)
class Row:
    """One response with its ground truth.

    Attributes:
        id: Names it in messages.
        response: The model's text.
        truth: As verl is given it: JSON text or a dict.
        language: Wanted language; None: the response's tags say.
        limits: For our side.
        timeout_s: For verl's side, where the row is about time or memory; None: verl's own.
        both_modes: Also with the other value of `continuous`.
        scorers: Which of verl's scorers are asked.
        profiles: Our profiles are held against them too.
        needs: The toolchain without which the row cannot be run here.
    """

    id: str
    response: str
    truth: Any
    language: str | None = None
    limits: LimitOverrides = LimitOverrides()
    timeout_s: int | None = None
    both_modes: bool = False
    scorers: tuple[str, ...] = ("prime", "sf")
    profiles: bool = True
    needs: str = "python"


def fenced(code: str, tag: str = "python") -> str:
    return f"Here it is.\n\n```{tag}\n{code.strip(chr(10))}\n```\n"


def stdin(name: str, response: str, *cases: tuple[str, str], **more: Any) -> Row:
    """A row whose program reads standard input: cases are (input, output)."""
    inputs, outputs = [list(column) for column in zip(*cases, strict=True)]
    return Row(name, response, json.dumps({"inputs": inputs, "outputs": outputs}), **more)


def call(name: str, code: str, *cases: tuple[list[Any], Any], fn: str = "f", **more: Any) -> Row:
    """A row whose function is called: cases are (arguments, value)."""
    truth = {
        "fn_name": fn,
        "inputs": ["\n".join(map(json.dumps, arguments)) for arguments, _ in cases],
        "outputs": [json.dumps(value) for _, value in cases],
    }
    return Row(name, fenced(code), json.dumps(truth), **more)


def prints(name: str, output: str, expected: str, **more: Any) -> Row:
    """A row whose program writes `output`, to be compared with `expected`."""
    return stdin(name, fenced(f"import sys\nsys.stdout.write({output!r})"), ("", expected), **more)


ADD = "a, b = map(int, input().split())\nprint(a + b)"
SUB = "a, b = map(int, input().split())\nprint(a - b)"
SUMS = (("2 3\n", "5\n"), ("10 -4\n", "6\n"))
CPP = "#include <iostream>\nint main() { long long a, b; std::cin >> a >> b; std::cout << a + b; }"

EXTRACTION = [
    stdin("one-block", fenced(ADD), *SUMS, both_modes=True),
    stdin("wrong-block", fenced(SUB), *SUMS, both_modes=True),
    stdin("last-of-two-right", fenced(SUB) + fenced(ADD), *SUMS),
    stdin("last-of-two-wrong", fenced(ADD) + fenced(SUB), *SUMS),
    stdin("then-output-untagged", fenced(ADD) + "It prints:\n\n" + fenced("5", ""), *SUMS),
    stdin("then-output-text", fenced(ADD) + fenced("5", "text"), *SUMS),
    stdin("alias-py", fenced(ADD, "py"), *SUMS),
    stdin("capital-tag", fenced(ADD, "Python"), *SUMS),
    stdin("python3-tag", fenced(ADD, "python3"), *SUMS),
    stdin("tag-with-title", fenced(ADD, 'python title="sum.py"'), *SUMS),
    stdin("untagged", fenced(ADD, ""), *SUMS),
    stdin("tildes", fenced(ADD, "python").replace("```", "~~~"), *SUMS),
    stdin("four-backticks", fenced(ADD, "python").replace("```", "````"), *SUMS),
    stdin("crlf", fenced(ADD).replace("\n", "\r\n"), *SUMS),
    stdin("unclosed", fenced(ADD).rstrip("`\n"), *SUMS),
    stdin("cut-in-the-middle", "```python\na, b = map(int, inp", *SUMS),
    stdin("closer-only", f"{ADD}\n```\nIt adds.", *SUMS),
    stdin("closer-with-token", f"```python\n{ADD}\n```<|im_end|>", *SUMS),
    stdin("bare-program", ADD, *SUMS),
    stdin("prose", "I cannot solve this one.", *SUMS),
    stdin("one-word", "no", *SUMS),
    stdin("empty", "", *SUMS),
    stdin("empty-block", "```python\n```", *SUMS),
    stdin("only-imports", fenced("import math"), *SUMS),
    stdin("only-a-comment", fenced("# later"), *SUMS),
    stdin("backticks-in-string", fenced("print('```' + input())"), ("x\n", "```x\n")),
    stdin("broken-last-block", fenced(ADD) + fenced("print(("), *SUMS),
    stdin("in-list", "1. Sum:\n\n   ```python\n   x = input()\n   print(x)\n   ```\n", ("7", "7")),
    stdin("drafts-in-reasoning", f"<think>{fenced(SUB)}</think>\n{ADD}", *SUMS),
    stdin("right-draft-wrong-answer", f"<think>{fenced(ADD)}</think>{fenced(SUB, '')}", *SUMS),
    stdin("reasoning-never-ends", f"<think>Perhaps:\n{fenced(ADD)}No, that", *SUMS),
    stdin("closing-tag-only", f"Hm.\n{fenced(SUB)}</think>\n{fenced(ADD, '')}", *SUMS),
    stdin("reasoning-then-block", f"<think>a + b</think>\n{fenced(ADD)}", *SUMS),
    stdin("cpp", fenced(CPP, "cpp"), *SUMS, needs="cpp"),
    stdin("cpp-after-sketch", fenced(SUB) + fenced(CPP, "cpp"), *SUMS, needs="cpp", language="cpp"),
    stdin("half-a-character", fenced(f"# \ud83d\n{ADD}"), *SUMS),
    call(
        "then-demo-block",
        "def f(x):\n    return x + 1\n```\nTry:\n```python\nprint(f(1))",
        ([1], 2),
    ),
]

COMPARISON = [
    prints("equal", "5", "5"),
    prints("newline-at-end", "5\n\n\n", "5"),
    prints("blank-at-line-ends", "1 \n2  \n", "1\n2\n"),
    prints("blank-at-line-starts", "  1\n2\n", "1\n2\n"),
    prints("two-blanks", "1  2\n", "1 2\n"),
    prints("tab-for-blank", "1\t2\n", "1 2\n"),
    prints("blank-lines-between", "1\n\n2\n", "1\n2\n"),
    prints("blank-lines-missing", "1\n2\n", "1\n\n2\n"),
    prints("line-of-blanks", "1\n2\n", "1\n \n2\n"),
    prints("crlf-expected", "1\n2\n", "1\r\n2\r\n"),
    prints("crlf-printed", "1\r\n2\r\n", "1\n2\n"),
    prints("wrong-number", "6\n", "5\n"),
    prints("lines-joined", "1 2\n", "1\n2\n"),
    prints("lines-split", "1\n2\n", "1 2\n"),
    prints("tokens-joined", "12\n", "1 2\n"),
    prints("order-of-lines", "2\n1\n", "1\n2\n"),
    prints("a-line-missing", "1\n", "1\n1\n"),
    prints("a-line-too-many", "1\n1\n", "1\n"),
    prints("letter-case", "yes\n", "YES\n"),
    prints("nothing-printed", "", "5\n"),
    prints("nothing-expected", "", ""),
    prints("blank-expected", "", " \n"),
    prints("debug-line", "debug\n5\n", "5\n"),
    prints("unicode", "caf\u00e9 \u2713\n", "caf\u00e9 \u2713\n"),
    prints("float-close", "0.3333333333\n", "0.3333333334\n"),
    prints("float-one-in-100000", "3.00002\n", "3.00003\n"),
    prints("float-far", "0.5\n", "0.6\n"),
    prints("floats-in-a-line", "0.1 0.20000000001\n", "0.1 0.2\n"),
    prints("float-for-int", "5.0\n", "5\n"),
    prints("int-for-float", "5\n", "5.0\n"),
    prints("more-zeros", "1.50\n", "1.5\n"),
    prints("exponent", "1e3\n", "1000\n"),
    prints("exponent-and-point", "1.0e3\n", "1000\n"),
    prints("underscore", "1_0\n", "10\n"),
    prints("plus-sign", "+5\n", "5\n"),
    prints("leading-zeros", "007\n", "7\n"),
    prints("leading-zeros-signed", "-07\n", "-7\n"),
    prints("nan", "nan\n", "nan\n"),
    prints("nan-for-number", "nan\n", "1.5\n"),
    prints("infinity-by-another-name", "inf\n", "Infinity\n"),
    prints("big-integers", "-1000000000000000000000\n", "-1000000000000000000001\n"),
    prints("big-unsigned-integers", "10000000000000000000000\n", "10000000000000000000001\n"),
    prints("integer-beside-float", "1000000007\n0.5\n", "1000000008\n0.5\n"),
    prints("form-feed", "1\x0c2\n", "1\n2\n"),
    prints("next-line-character", "1\x852\n", "1\n2\n"),
    prints("long-and-wrong", "x" * 3000 + "y" * 3000, "x"),
    prints("word-for-number", "five\n", "5\n"),
]

CALLS = [
    call("call-right", "def f(a, b):\n    return a + b", ([1, 2], 3), ([5, 6], 11)),
    call("call-wrong", "def f(a, b):\n    return a - b", ([1, 2], 3), ([5, 0], 5), both_modes=True),
    call("call-list", "def f(n):\n    return list(range(n))", ([3], [0, 1, 2])),
    call("call-tuple", "def f(n):\n    return (n, n)", ([3], [3, 3])),
    call("call-tuples-in-list", "def f(n):\n    return [(n, 1), (n, 2)]", ([3], [[3, 1], [3, 2]])),
    call("call-string", "def f(s):\n    return s[::-1]", (["abc"], "cba")),
    call("call-string-with-quote", "def f(s):\n    return s", (['a"b'], 'a"b')),
    call("call-float", "def f(a, b):\n    return a + b", ([0.1, 0.2], 0.3)),
    call("call-float-equal", "def f(x):\n    return x / 2", ([1], 0.5)),
    call("call-float-far", "def f(x):\n    return x / 2", ([1], 0.6)),
    call("call-int-for-float", "def f(x):\n    return 1", ([1], 1.0)),
    call("call-float-for-int", "def f(x):\n    return 1.0", ([1], 1)),
    call("call-bool", "def f(x):\n    return x > 0", ([1], True), ([-1], False)),
    call("call-int-for-bool", "def f(x):\n    return 1", ([1], True)),
    call("call-none", "def f(x):\n    pass", ([1], None)),
    call("call-none-for-value", "def f(x):\n    pass", ([1], 1)),
    call("call-dict", "def f(x):\n    return {'b': 1, 'a': x}", ([2], {"a": 2, "b": 1})),
    call("call-int-keys", "def f(x):\n    return {1: x}", ([2], {"1": 2})),
    call("call-int-keys-inside", "def f(x):\n    return [0, {1: x}]", ([2], [0, {"1": 2}])),
    call("call-first-item", "def f(x):\n    return 5", ([1], [5, 6])),
    call("call-only-item", "def f(x):\n    return 5", ([1], [5]), ([2], [5, 6])),
    call("call-empty-string", "def f(x):\n    return ''", ([1], "")),
    call("call-empty-list", "def f(x):\n    return []", ([1], [])),
    call("call-string-for-number", "def f(x):\n    return '5'", ([1], 5)),
    call("call-number-for-string", "def f(x):\n    return 5", ([1], "5")),
    call("call-raised", "def f(x):\n    raise ValueError(x)", ([1], 1)),
    call("call-raised-nothing-expected", "def f(x):\n    return x[0]", ([1], None)),
    call("call-set", "def f(x):\n    return {x}", ([1], [1])),
    call("call-generator", "def f(x):\n    yield x", ([1], [1])),
    call("call-big-int", "def f(n):\n    return 10 ** n", ([30], 10**30)),
    call("call-class", "class Solution:\n    def f(self, x):\n        return x + 1", ([1], 2)),
    call("call-other-name", "def g(x):\n    return x + 1", ([1], 2)),
    call("call-does-not-parse", "def f(x:\n    return x", ([1], 2)),
    call("call-exits", "import sys\nsys.exit(0)\ndef f(x):\n    return 1", ([1], 1)),
    call("call-prints", "def f(x):\n    print('debug')\n    return x", ([1], 1)),
    call("call-typing-name", "def f(x: List[int]) -> int:\n    return sum(x)", ([[1, 2]], 3)),
    call("call-deepcopy-name", "def f(x):\n    return deepcopy(x)", ([[1, 2]], [1, 2])),
    call("call-pow", "def f(b, e, m):\n    return pow(b, e, m)", ([2, 10, 1000], 24)),
    call(
        "call-main-guard",
        "def f(x):\n    return x\nif __name__ == '__main__':\n    print(f(input()))",
        ([1], 1),
    ),
    call(
        "call-keeps-state",
        "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)",
        ([1], 1),
        ([2], 1),
    ),
    call("call-changes-argument", "def f(x):\n    x.sort()\n    return x", ([[2, 1]], [1, 2])),
]

RUNNING = [
    stdin(
        "main-guard",
        fenced(
            "def main():\n    a, b = map(int, input().split())\n    print(a + b)\n\n"
            "if __name__ == '__main__':\n    main()"
        ),
        *SUMS,
    ),
    stdin(
        "main-guard-not-last",
        fenced(f"if __name__ == '__main__':\n    {ADD.replace(chr(10), chr(10) + '    ')}\npass"),
        *SUMS,
    ),
    stdin("read-all", fenced("import sys\nprint(sum(map(int, sys.stdin.read().split())))"), *SUMS),
    stdin(
        "iterate-lines",
        fenced("import sys\nfor x in sys.stdin:\n    print(x.strip())"),
        ("1\n2\n", "1\n2\n"),
    ),
    stdin(
        "readline",
        fenced("import sys\nprint(int(sys.stdin.readline()) + int(sys.stdin.readline()))"),
        ("1\n2\n", "3"),
    ),
    stdin(
        "readline-at-end",
        fenced("import sys\nn = 0\nwhile sys.stdin.readline():\n    n += 1\nprint(n)"),
        ("1\n2\n", "2"),
    ),
    stdin(
        "input-then-readline",
        fenced("import sys\na = input()\nprint(a, sys.stdin.readline().strip())"),
        ("1\n2\n", "1 2"),
    ),
    stdin(
        "stdin-bytes",
        fenced("import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))"),
        *SUMS,
    ),
    stdin("open-zero", fenced("print(sum(map(int, open(0).read().split())))"), *SUMS),
    stdin(
        "stdout-bytes",
        fenced("import sys\nsys.stdout.buffer.write(input().encode())"),
        ("7\n", "7\n"),
    ),
    stdin("write-descriptor", fenced("import os\nos.write(1, input().encode())"), ("7\n", "7\n")),
    stdin("not-utf8", fenced("import sys\nsys.stdout.buffer.write(b'\\xff')"), ("", "7\n")),
    stdin("past-the-end", fenced("print(input() + input())"), ("1\n", "1")),
    stdin("raises", fenced("raise ValueError(3)"), *SUMS, both_modes=True),
    stdin("raises-after-answer", fenced(ADD + "\nraise ValueError(3)"), *SUMS),
    stdin("does-not-parse", fenced("print("), *SUMS, both_modes=True),
    stdin("exit-code-3", fenced("import sys\n" + ADD + "\nsys.exit(3)"), *SUMS),
    stdin("exit-code-0", fenced("import sys\n" + ADD + "\nsys.exit()\nprint('no')"), *SUMS),
    stdin("exit-with-text", fenced("import sys\n" + ADD + "\nsys.exit('bad')"), *SUMS),
    stdin("exit-builtin", fenced(ADD + "\nexit()"), *SUMS),
    stdin("exit-at-once", fenced("import os\nprint(input())\nos._exit(0)"), ("7", "7")),
    stdin("several-lines-in-a-string", fenced('print(len("""a\nb"""))'), ("", "3")),
    stdin(
        "global-statement",
        fenced("n = 1\ndef up():\n    global n\n    n += 1\nup()\nprint(n)"),
        ("", "2"),
    ),
    stdin("globals-dict", fenced("n = 4\nprint(globals()['n'])"), ("", "4")),
    stdin("late-star-import", fenced("x = 4\nfrom math import *\nprint(isqrt(x))"), ("", "2")),
    stdin("return-outside-function", fenced("print(4)\nreturn"), ("", "4")),
    stdin(
        "class-and-recursion",
        fenced(
            "class T:\n    def go(self, n):\n        return n and n + self.go(n - 1)\n"
            "print(T().go(int(input())))"
        ),
        ("4", "10"),
    ),
    stdin(
        "deep-recursion",
        fenced("def go(n):\n    return n and 1 + go(n - 1)\nprint(go(int(input())))"),
        ("5000", "5000"),
    ),
    stdin(
        "deep-recursion-with-a-limit",
        fenced(
            "import sys\nsys.setrecursionlimit(10000)\n"
            "def go(n):\n    return n and 1 + go(n - 1)\nprint(go(int(input())))"
        ),
        ("5000", "5000"),
    ),
    stdin(
        "names-without-import",
        fenced("print(isqrt(int(input())), Counter('aa')['a'])"),
        ("9", "3 2"),
    ),
    stdin(
        "star-import-changes-a-name",
        fenced("e = [e for e in input()]\nprint(len(e))"),
        ("abc", "3"),
    ),
    stdin(
        "runs-a-child",
        fenced(
            "import subprocess, sys\n"
            "out = subprocess.run([sys.executable, '-c', 'print(6)'], capture_output=True)\n"
            "print(out.stdout.decode())"
        ),
        ("", "6"),
    ),
    stdin(
        "removes-a-file",
        fenced("import os\nwith open('x', 'w') as f:\n    f.write('1')\nos.remove('x')\nprint(2)"),
        ("", "2"),
    ),
    stdin(
        "many-digits",
        fenced("print(len(str(10 ** 5000)))\nprint(10 ** 5000)"),
        ("", "5001\n1" + "0" * 5000),
    ),
    stdin(
        "noise-on-stderr", fenced("import sys\nprint('x' * 100000, file=sys.stderr)\n" + ADD), *SUMS
    ),
    stdin(
        "state-in-a-module",
        fenced("import math\nmath.n = getattr(math, 'n', 0) + 1\nprint(math.n)"),
        ("", "1"),
        ("", "1"),
    ),
    stdin(
        "half",
        fenced("a, b = map(int, input().split())\nprint(abs(a) + abs(b))"),
        *SUMS,
        both_modes=True,
    ),
    stdin(
        "twelve-last-wrong",
        fenced("x = int(input())\nprint(x if x < 11 else 0)"),
        *((str(i), str(i)) for i in range(12)),
        both_modes=True,
    ),
    stdin(
        "twelve-first-wrong",
        fenced("x = int(input())\nprint(x or 7)"),
        *((str(i), str(i)) for i in range(12)),
        both_modes=True,
    ),
    stdin(
        "some-crash",
        fenced("print(6 // int(input()))"),
        ("1", "6"),
        ("0", "0"),
        ("2", "4"),
        ("3", "2"),
    ),
    stdin("long-texts", fenced("print('x' * 900)"), ("y" * 700, "z" * 800)),
    stdin("long-lines", fenced("print('x\\n' * 90)"), ("y\n" * 301, "z\n" * 155)),
    call("long-call", "def f(a, b, c):\n    return a * 2", (["x" * 151, "y" * 333, 1], "x" * 303)),
    stdin(
        "thread",
        fenced(
            "import threading\nt = threading.Thread(target=print, args=(4,))\nt.start()\nt.join()"
        ),
        ("", "4"),
    ),
    stdin("assertion", fenced("assert input() == 'x'"), *SUMS),
    stdin(
        "swallows-exit",
        fenced("try:\n    raise SystemExit(1)\nexcept BaseException:\n    print(7)"),
        ("", "7"),
    ),
    stdin(
        "at-exit",
        fenced("import atexit\natexit.register(print, 'late')\nprint(1)"),
        ("", "1\nlate"),
    ),
]

SHORT = LimitOverrides(cpu_time_s=0.5, wall_time_s=2.5)
LIMITS = [
    stdin("never-ends", fenced("while True:\n    pass"), ("", "1"), limits=SHORT, timeout_s=1),
    stdin(
        "one-never-ends",
        fenced("x = int(input())\nwhile x == 0:\n    pass\nprint(x)"),
        ("1", "1"),
        ("0", "0"),
        limits=SHORT,
        timeout_s=1,
    ),
    call(
        "call-never-ends",
        "def f(x):\n    while True:\n        pass",
        ([1], 1),
        limits=SHORT,
        timeout_s=1,
    ),
    stdin(
        "sleeps-for-ever",
        fenced("import time\ntime.sleep(99)"),
        ("", "1"),
        limits=SHORT,
        timeout_s=1,
    ),
    stdin(
        "sleeps-a-little",
        fenced("import time\ntime.sleep(1.5)\nprint(1)"),
        ("", "1"),
        limits=SHORT,
        timeout_s=1,
    ),
    stdin(
        "slow-in-sum",
        fenced("import time\ntime.sleep(0.5)\nprint(1)"),
        *[("", "1")] * 7,
        limits=LimitOverrides(cpu_time_s=2.0),
        timeout_s=2,
        scorers=("prime",),
    ),
    stdin(
        "catches-everything",
        fenced(
            "while True:\n    try:\n        while True:\n            pass\n"
            "    except BaseException:\n        pass"
        ),
        ("", "1"),
        limits=SHORT,
        timeout_s=1,
    ),
    stdin(
        "thread-never-ends",
        fenced(
            "import threading, time\nprint(1)\n"
            "threading.Thread(target=time.sleep, args=(99,)).start()"
        ),
        ("", "1"),
        limits=LimitOverrides(cpu_time_s=1.0, wall_time_s=1.0),
        timeout_s=1,
    ),
    stdin(
        "memory-without-end",
        fenced("x = []\nwhile True:\n    x.append(bytearray(b'x') * 1000000)"),
        ("", "1"),
        limits=LimitOverrides(memory_bytes=64 * MIB),
        timeout_s=1,
    ),
    stdin(
        "output-without-end",
        fenced("while True:\n    print('x' * 1000)"),
        ("", "1"),
        limits=LimitOverrides(output_bytes=MIB),
        timeout_s=1,
    ),
    stdin(
        "much-memory",
        fenced("x = bytearray(b'x') * 300000000\nprint(1)"),
        ("", "1"),
        limits=LimitOverrides(memory_bytes=128 * MIB),
        scorers=("prime",),
    ),
    stdin(
        "much-output",
        fenced("print('x' * 3000000)"),
        ("", "x" * 3000000),
        limits=LimitOverrides(output_bytes=MIB),
        scorers=("prime",),
    ),
]


def truth(name: str, response: str, value: Any, **more: Any) -> Row:
    """A row whose ground truth is what it is about."""
    return Row(name, response, value, **more)


_SUMS = {"inputs": [a for a, _ in SUMS], "outputs": [b for _, b in SUMS]}
_F = "def f(x):\n    return x + 1"
DATA = [
    truth("truth-as-object", fenced(ADD), _SUMS),
    truth("truth-encoded-twice", fenced(ADD), json.dumps(json.dumps(_SUMS))),
    truth("truth-no-json", fenced(ADD), "inputs: 1"),
    truth("truth-without-cases", fenced(ADD), json.dumps({"inputs": [], "outputs": []})),
    truth("truth-other-keys", fenced(ADD), json.dumps({"in": ["1"], "out": ["2"]})),
    truth("truth-too-few-outputs", fenced(ADD), json.dumps({**_SUMS, "outputs": ["5\n"]})),
    truth("truth-too-many-outputs", fenced(ADD), json.dumps({**_SUMS, "outputs": ["5", "6", "7"]})),
    truth("truth-null-output", fenced(ADD), json.dumps({**_SUMS, "outputs": ["5", None]})),
    truth(
        "truth-lists-of-lines",
        fenced("print(input())\nprint(input())"),
        json.dumps({"inputs": [["1", "2"]], "outputs": [["1", "2"]]}),
    ),
    truth("truth-numbers", fenced("print(input())"), json.dumps({"inputs": [5], "outputs": [5]})),
    truth(
        "truth-arguments-as-list",
        fenced(_F),
        json.dumps({"fn_name": "f", "inputs": [[1]], "outputs": [2]}),
    ),
    truth(
        "truth-values-wrapped",
        fenced(_F),
        json.dumps({"fn_name": "f", "inputs": [[1], [2]], "outputs": [[2], [3]]}),
    ),
    truth(
        "truth-cases-as-objects",
        fenced(ADD),
        json.dumps({"test_cases": [{"type": "stdin_stdout", "input": "2 3", "output": "5"}]}),
    ),
    truth(
        "truth-with-checker",
        fenced("print(7)"),
        json.dumps(
            {
                **_SUMS,
                "checker": "def check(input, output, answer):\n    return output.strip() == '7'",
            }
        ),
    ),
    truth("truth-null-name", fenced(ADD), json.dumps({**_SUMS, "fn_name": None})),
    truth(
        "asserts-right",
        fenced(_F),
        json.dumps({"assert_case": ["assert f(1) == 2", "assert f(2) == 3"]}),
    ),
    truth(
        "asserts-wrong",
        fenced(_F),
        json.dumps({"assert_case": ["assert f(1) == 2", "assert f(2) == 4"]}),
    ),
    truth(
        "asserts-raise",
        fenced("def f(x):\n    return x.y"),
        json.dumps({"assert_case": ["assert f(1) == 2"]}),
    ),
    truth(
        "asserts-after-exit",
        fenced(_F + "\nraise SystemExit(0)"),
        json.dumps({"assert_case": ["assert f(1) == 9"]}),
    ),
    truth(
        "asserts-always-equal",
        fenced("class N(int):\n    __eq__ = lambda s, o: True\ndef f(x):\n    return N(0)"),
        json.dumps({"assert_case": ["assert f(1) == 2"]}),
    ),
    truth(
        "asserts-and-outputs",
        fenced(_F),
        json.dumps({"assert_case": ["assert f(1) == 2"], "inputs": [""], "outputs": ["7"]}),
    ),
    truth(
        "asserts-too-few",
        fenced(_F),
        json.dumps({"assert_case": ["assert f(1) == 2"], "inputs": ["", ""], "outputs": ["", ""]}),
    ),
]

CORPUS = [*EXTRACTION, *COMPARISON, *CALLS, *RUNNING, *LIMITS, *DATA]
