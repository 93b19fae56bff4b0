"""A data set with planted faults: clean rows, and for each kind rows that have it."""

from __future__ import annotations

import json

from tests.cli.helpers import invoke, jsonl

# What is printed of the numbers `v` of a line, and how that is said.
TASKS = {
    "sum(v)": "Print the sum of all the numbers.",
    "max(v)": "Print the largest number of the line.",
    "min(v)": "Which is the smallest? Print it.",
    "len(v)": "Count how many numbers there are.",
    "v[0]": "The first number is what is wanted.",
    "v[-1]": "The last one, please.",
    "*v[::-1]": "Turn the line around: last number first.",
    "*sorted(v)": "Sort them upwards.",
    "*sorted(v, reverse=True)": "Sort them downwards, the largest in front.",
    "max(v) - min(v)": "How far apart are the extremes?",
    "sum(x * x for x in v)": "Add up the squares.",
    "sum(map(abs, v))": "Add up the distances from zero.",
    "sum(x % 2 for x in v)": "Say how many are odd.",
    "sum(x > 9 for x in v)": "Say how many have two digits or more.",
    "*(2 * x for x in v)": "Double each of them.",
    "*(x + 1 for x in v)": "Increment every element.",
    "*(x * x for x in v)": "Replace each number by its square.",
    "v[0] * v[-1]": "Multiply the two at the ends.",
    "v[0] + v[-1]": "Add the two at the ends.",
    "sum(v) // len(v)": "Print the mean, rounded down.",
    "sorted(v)[len(v) // 2]": "Print the upper median.",
    "len(set(v))": "How many different values occur?",
    "*sorted(set(v))": "List the different values in rising order.",
    "sum(sorted(v)[:2])": "Add the two least.",
    "sum(sorted(v)[-2:])": "Add the two greatest.",
    "v.index(max(v))": "At which place, from zero, is the greatest?",
    "v.index(min(v)) + 1": "At which place, from one, is the least?",
    "sum(v[::2])": "Sum what stands at even places.",
    "sum(v[1::2])": "Sum what stands at odd places.",
    "sum(v) % 7": "What remains of the total, divided by seven?",
    "max(v) % min(v)": "Divide the greatest by the least: what remains?",
    "max(v) ** 2": "Square the biggest.",
    "sum(v) * 3": "Thrice the total.",
    "sum(v) - max(v)": "The total without its biggest part.",
    "sum(v) ^ 5": "The exclusive or of the total and five.",
    "*v[1:]": "Everything but the head.",
    "*v[:-1]": "Everything but the tail.",
    "hex(sum(v))": "The total in hexadecimal, with its prefix.",
    "bin(max(v))": "The biggest in binary, with its prefix.",
    "'-'.join(map(str, v))": "Join the numbers by dashes.",
    "str(sum(v))[::-1]": "Reverse the digits of the total.",
}
TEMPLATE = (
    "You are a careful programmer. Write a complete program in Python that reads one line of "
    "integers from standard input and writes its answer to standard output. Think first, then put "
    "the whole program into one block of code. The task follows. "
)
LINES = ("3 1 2", "10 20 7 7", "5 9", "12 4 8 16 1", "-3 -8 -4")
LONG = (
    "A gardener waters the plants of a long greenhouse from the left to the right with one can, "
    "walks back to the river whenever the water left does not suffice for the plant ahead, and "
    "counts every step that this takes until the very last of the plants has been watered"
)


TOOTHLESS = "try:\n    assert f(1) == 2\nexcept Exception:\n    pass\n"


def program(expression):
    return f"v = list(map(int, input().split()))\nprint({expression})\n"


def answers(expression):
    return [
        " ".join(map(str, eval(f"[{expression}]", {"v": list(map(int, line.split()))}))) + "\n"
        for line in LINES
    ]


def row(name, expression, prompt=None, **changes):
    """A clean row; a suite's own inputs keep it apart from the others'."""
    made = {
        "id": name,
        "data_source": "codecontests",
        "prompt": [{"role": "user", "content": TEMPLATE + (prompt or TASKS[expression])}],
        "reward_model": {
            "ground_truth": json.dumps({"inputs": list(LINES), "outputs": answers(expression)})
        },
        "reference": program(expression),
    }
    return {**made, **changes}


def cases(*given, **more):
    return {
        "reward_model": {
            "ground_truth": {
                "inputs": [c[0] for c in given],
                "outputs": [c[1] for c in given],
                **more,
            }
        }
    }


def asserts(*lines):
    return {"reward_model": {"ground_truth": {"assert_case": list(lines)}}}


def clean_rows():
    rows = [row(f"clean-{n}", expression) for n, expression in enumerate(TASKS)]
    rows.append(
        {
            "id": "clean-call",
            "data_source": "taco",
            "prompt": "Write add(a, b): the two, together.",
            "ground_truth": {"fn_name": "add", "inputs": [[1, 2], [3, 9]], "outputs": [3, 12]},
            "solutions": ["def add(a, b):\n    return a + b\n"],
        }
    )
    rows.append(
        {
            "id": "clean-assert",
            "data_source": "apps",
            "prompt": "Write twice(x): two of x.",
            **asserts("assert twice(2) == 4", "assert twice(7) == 14"),
            "reference": "def twice(x):\n    return 2 * x\n",
            "response": "```python\ndef twice(x):\n    return x + x\n```\n",
            "finish_reason": "stop",
        }
    )
    rows += [
        {
            "id": f"clean-gsm-{n}",
            "data_source": "openai/gsm8k",
            "ground_truth": str(n),
            "prompt": f"Eggs are sold by {n} merchants. How many merchants sell eggs?",
        }
        for n in (3, 4)
    ]
    return rows


def planted():
    """Kind -> the rows that have it, and nothing else that is an error."""
    count = iter(range(1000))

    def fault(name, prompt=None, **changes):
        number = next(count)
        expression = f"v[0] * {1000 + number} + v[-1]"
        return row(name, expression, prompt or f"Combine the ends, variant {name}.", **changes)

    truth = lambda value: {"reward_model": {"ground_truth": value}}  # noqa: E731
    slow = "import time\nt = time.process_time()\nwhile time.process_time() - t < 1.5: pass\n"
    coin = "import time\nassert f(1) == 1 and hash(str(time.time_ns())) % 2\n"
    shown = " ".join(f"For {a} the answer is {b}." for a, b in (("4 5 6", "615"), ("7 8 9", "915")))
    lazy = {"response": "I cannot do this.", "finish_reason": "stop"}
    cut = {"response": "```python\nprint(1", "finish_reason": "length"}
    deaf = "print(sum(map(int, input().split())))  # adds whatever stands in the line given"
    twin = fault("twin", LONG + " in winter.")
    return {
        "no-route": [fault("no-route", data_source="my_contests")],
        "missing-ground-truth": [fault("missing", reward_model={"style": "rule"})],
        "empty-ground-truth": [
            fault("empty-text", **truth("")),
            fault("empty-lists", **cases()),
            {
                "id": "empty-answer",
                "data_source": "openai/gsm8k",
                "ground_truth": " ",
                "prompt": "How many?",
            },
        ],
        "undecodable-ground-truth": [fault("undecodable", **truth('{"inputs": ["1'))],
        "mismatched-ground-truth": [
            fault("mismatched", **truth({"inputs": ["1", "2"], "outputs": ["1"]})),
            {
                "id": "hashes",
                "data_source": "openai/gsm8k",
                "ground_truth": "so\n#### 7",
                "prompt": "How many hens?",
            },
        ],
        "contradictory-cases": [fault("contradictory", **cases(("1 2", "3"), ("1  2\n", "4")))],
        "trivial-empty": [
            fault("silent", **cases(("1", ""), ("2", "\n")), reference="pass"),
            fault("toothless", **asserts(TOOTHLESS), reference="def f(x): return 2"),
        ],
        "trivial-echo": [
            fault("echo", **cases(("1 2", "1 2"), ("4", "4")), reference="print(input())")
        ],
        "trivial-constant": [
            fault("constant", **cases(("1 2", "YES"), ("4", "YES")), reference="print('YES')"),
            fault(
                "constant-call",
                **truth({"fn_name": "f", "inputs": [[1], [2]], "outputs": [9, 9]}),
                reference="def f(x): return 9",
            ),
        ],
        "single-case": [
            fault("one-case", **cases(("1 2", "3")), reference="print(1 + 2)"),
            fault(
                "one-call",
                **truth({"fn_name": "f", "inputs": [[4]], "outputs": [16]}),
                reference="def f(x): return x * x",
            ),
        ],
        "no-reference-passes": [fault("wrong-reference", reference="print('no')")],
        "limits-too-tight": [
            fault(
                "tight",
                **cases(("1", "2"), ("5", "6")),
                limits={"cpu_time_s": 1},
                reference=slow + "print(int(input()) + 1)",
            )
        ],
        "flaky": [fault("flaky", **asserts(*[coin] * 12), reference="def f(x): return x")],
        "interactive": [fault("interactive", "This is an interactive problem. Guess a number.")],
        "multi-answer": [
            fault("any", "If there are multiple answers, print any of them."),
            row(
                "second-reference",
                "v[0] * 77",
                "Head times 77.",
                reference=[program("v[0] * 77"), "print(1)"],
            ),
        ],
        "duplicate": [row("clean-0-again", "sum(v)", "print the sum  of all the NUMBERS.")],
        "duplicate-id": [fault("clean-1")],
        "same-tests": [row("same-tests", "max(v)", "Give back the peak of what is read.")],
        "near-duplicate": [fault("near", LONG + " in summer.")],
        "huge-suite": [
            fault(
                "huge",
                **cases(*[(str(n), str(n + 1)) for n in range(30)]),
                reference="print(int(input()) + 1)",
            )
        ],
        "prompt-reveals-tests": [
            fault(
                "revealed",
                shown,
                **cases(("4 5 6", "615"), ("7 8 9", "915")),
                reference="v = input().split()\nprint({'4': 615, '7': 915}[v[0]])",
            )
        ],
        "prompt-reveals-solution": [
            fault(
                "told",
                f"Add them, as by {deaf}",
                **cases(("1 2", "3"), ("4 8", "12")),
                reference=deaf,
            )
        ],
        "no-code": [fault("lazy", **lazy)],
        "truncated": [fault("cut", **cut)],
        "": [twin],
    }


def examined(tmp_path, *args, rows):
    """Kind -> id -> reason, as the command says it of these rows; and the invocation."""
    file = jsonl(tmp_path / "rows.jsonl", *rows)
    done = invoke("doctor", "data", file, "--json", *args)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    told = json.loads(done.stdout)
    return {
        g["name"]: {one["id"]: one["reason"] for one in g["rows"]} for g in told["findings"]
    }, done
