"""Responses and ground truths for the scorers of answers: forms of answers, in forms of responses.

Each answer meets itself, the answers beside it in the list (which are equal, or nearly so), and a
fixed pseudo-random choice of others; each form of a response is used in turn.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

# Groups of answers that mean the same, nearly the same, or look alike.
ANSWERS = [
    ["72", "72.0", "72.", "072", "+72", "seventy-two", "72 cm", "72\\text{ cm}", "72 centimeters"],
    ["1234", "1,234", "1,2,34", "1{,}234", "1\\,234", "1234.0000000001", "12,34", "1 234"],
    ["-5", "- 5", "−5", "(-5)", "--5", "5", "5.", "x=5", "x = 5", "xyz=5", "a=b=5"],  # noqa: RUF001
    ["0.5", ".5", "1/2", "\\frac{1}{2}", "\\frac12", "\\dfrac{1}{2}", "\\frac{2}{4}", "2/4", "50%"],
    ["50\\%", "50", "\\frac1{2}", "\\frac{1}2", "0.50", "half", "½", "-\\frac{1}{2}", "-1/2"],
    ["\\frac{3}{4}", "\\tfrac34", "3/4", "0.75", "75%", "75\\%", "\\frac{ 3 }{ 4 }", "3 / 4"],
    ["2\\frac{1}{3}", "7/3", "2 1/3", "\\frac{7}{3}", "2.333333", "2.3334", "\\frac{7}{3}x"],
    ["\\sqrt{2}", "\\sqrt2", "\\sqrt 2", "1.41421356", "1.4142", "2^{1/2}", "sqrt(2)"],
    ["\\sqrt{8}", "2\\sqrt{2}", "2\\sqrt2", "\\frac{4}{\\sqrt{2}}", "8^{0.5}"],
    ["\\pi", "π", "3.14", "3.14159", "3.1415926535", "pi", "2\\pi", "6.28", "6.2832", "\\pi r^2"],
    ["\\frac{\\pi}{2}", "\\pi/2", "1.5708", "(\\pi)/2", "\\frac{1}{2}\\pi", "2*\\pi+1", "3\\pi^2"],
    ["(1,2)", "(1, 2)", "[1,2]", "(1,2]", "1,2", "(2,1)", "\\left(1,2\\right)", "(1,2,3)", "()"],
    ["\\{1,2\\}", "{1,2}", "1 and 2", "1 or 2", "(1000,2)", "(1,000,2)", "(1.0,2.0)", "(50%,2)"],
    ["x^2+1", "1+x^2", "x^2 + 1", "x**2+1", "x^{2}+1", "x*x+1", "(x+1)^2", "x^2+2x+1"],
    ["2(x+y)", "2x+2y", "x+y+x+y", "2x + 2y + z", "xy", "yx", "y*x", "f(x)", "x^10", "x^2^3"],
    ["yes", "Yes", "\\text{yes}", "\\text{ yes }", "YES.", "\\textbf{yes}", "\\mathrm{yes}", "no"],
    ["A", "(A)", "\\text{(A)}", "\\text{A}", "a", "A.", "A) 5", "\\textbf{(A)}\\ 5", "B"],
    ["\\$18", "$18", "18", "18 dollars", "$18.00", "\\$18.00", "18.00", "\\$ 18", "18\\$"],
    ["10^{\\circ}", "10^\\circ", "10 degrees", "10°", "10", "10^{\\circ}C", "10 ^ \\circ"],
    ["11_2", "11_{2}", "11", "3", "1011_2", "x_1", "1_000", "1e3", "1000", "1E3", "10^3"],
    ["2 million", "2000000", "2*10^6", "2,000,000", "3 billion", "1.5 trillion", "3*10^9"],
    ["\\infty", "∞", "inf", "-\\infty", "nan", "(-\\infty,1]", "(-∞,1]", "Infinity", "-inf"],
    ["[0,1)\\cup(2,3]", "[0,1) U (2,3]", "[0,1)∪(2,3]", "Interval(0, 1)", "Interval.open(0, 1)"],  # noqa: RUF001
    ["Interval.Ropen(0, 1)", "[0,1)", "Interval.Lopen(0, 1)", "(0,1]", "[0, 1]", "(0, 1)"],
    ["\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "Matrix([[1],[2]])", "[1,2]", "[[1],[2]]", "[1]"],
    ["\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "[[1,2],[3,4]]", "Matrix([[1, 2], [3, 4]])"],
    ["Point(1, 2)", "Point2D(1, 2)", "(1,2)", "Point(1)", "3!", "6", "2**3", "8", "2^3", "2^{3}"],
    [
        "",
        " ",
        "\\frac",
        "\\sqrt",
        "\\frac{}{}",
        "{}",
        "{5}",
        "{{5}}",
        "\\text{}",
        "$",
        "%",
        ".",
        "-",
    ],
    [
        "\\text{ a}\\text{ b}",
        "a\\text{ b}",
        "\\frac{a}{b}",
        "\\frac ab",
        "a/b",
        "\\frac{a",
        "}{",
        "{",
    ],
    ["२", "２", "10\u00a0000", "naïve", "x̄", "\u200b5", "🙂", "\ud83d", "5\n", "5\\\\6", "\\!5"],  # noqa: RUF001
    ["5 miles", "5 mile", "5 feet", "5 foot", "5 inches", "5 liters", "5 cm^2", "5\\text{ m}^2"],
    [
        "an apple",
        "a apple",
        "the apple",
        "apple",
        "Apple!",
        "apples",
        "an, the apple",
        "The  Apple",
    ],
    ["New York", "new york", "New York City", "New-York", "NewYork", "york new", "New\nYork"],
    [
        "5 units",
        "5 ways",
        "\\text{5 ways}",
        "5\\;",
        "5\\text{.}",
        "\\overline{AB}",
        "AB",
        '"5"',
        "'5'",
    ],
    [
        "lambda: 5",
        "5 if 1 else 2",
        "x.y",
        "2.x",
        "1..real",
        "0x10",
        "16",
        "5;6",
        "5#6",
        "a b c",
        "abc",
    ],
    [
        "9" * 60,
        "9" * 60 + "0",
        "0." + "3" * 60,
        "1/" + "3" * 60,
        "x" * 120,
        "(" * 40 + "1" + ")" * 40,
    ],
]

# How a response states its answer: "@" stands for it.
FORMS = [
    "The answer is \\boxed{@}.",
    "#### @",
    "Let me see.\n\nAnswer: @",
    "<answer>@</answer>",
    "<think>Hm.</think> So \\boxed{@}",
    "@",
    "First \\boxed{1}, no: \\boxed{@}",
    "\\boxed{@} is wrong. It is \\boxed{99}.",
    "so \\boxed @$ and that is it",
    "\\fbox{@}",
    "not closed: \\boxed{@",
    "$x = @$",
    "ANSWER  :   @\nand some more",
    "the final answer is: $@$. I hope it is correct. ",
    "@ is the answer",
    "The answers are @",
    "#### 1\n#### @\n",
    "####@",
    "#### $@",
    "<answer>no</answer> <answer> @ </answer>",
    "<answer>@",
    "@</answer>",
    "<answer>a\nb</answer>" * 11 + "<answer>@</answer>",
    "<think>a</think><think>b</think>\\boxed{@}\n",
    "<think>a \\boxed{@}</think> done",
    " <think>a</think>\\boxed{@}",
    "<think>a\\boxed{@}",
    "Step 2: we get @. Then \\box.",
    "we get @, which will be @.",
    "İİİ so the answer is @",
    "\\boxed{\\boxed{@}}",
    "\\boxed{\\text{@}}",
    "\\boxed{@}}",
    "Answer: \\boxed{@}",
    "Answer: $@$.",
    "Answer:\n@",
    "Answer: [INVALID]\n\\boxed{@}",
    "**Answer:** @",
    "\\boxed{@} " + "and so on " * 9,
    "\\boxed{@} " + "and so on " * 60,
    "Answer: @ " + "and so on " * 60,
    "#### @ " + "and so on " * 60,
    "thinking " * 3000 + "\\boxed{@}",
    "thinking " * 3000 + "#### @",
    "1, 2, 3 and -@",
    "The area is @ square units.",
    "be @",
    "It will be\n@",
]


@dataclass(frozen=True)
class Row:
    """One response, as it is scored; `truth` is JSON."""

    id: str
    source: str
    response: str
    truth: Any


SOURCES = {
    "gsm8k": ["openai/gsm8k"],
    "math_reward": [
        "lighteval/MATH",
        "DigitalLearningGmbH/MATH-lighteval",
        "HuggingFaceH4/MATH-500",
    ],
    "math_dapo": ["math_dapo", "math", "math_dapo_reasoning", "aime2024", "aime"],
    "prime_math": [
        "numina_aops_forum",
        "numina_synthetic_math",
        "numina_amc_aime",
        "numina_synthetic_amc",
        "numina_cn_k12",
        "numina_olympiads",
    ],
    "geo3k": ["hiyouga/geometry3k"],
    "search_r1_like_qa_em": [
        "searchR1_nq",
        "searchR1_triviaqa",
        "searchR1_popqa",
        "searchR1_hotpotqa",
        "searchR1_2wikimultihopqa",
        "searchR1_musique",
        "searchR1_bamboogle",
    ],
    # Not in verl's table, but there.
    "math_verify": ["math_verify"],
}
# How many responses state which form of an answer; the rest go over all forms in turn.
PLAIN_FORM = {
    "gsm8k": "#### @",
    "math_reward": "so \\boxed{@}.",
    "math_dapo": "Answer: @",
    "prime_math": "The answer is \\boxed{@}",
    "geo3k": "<think>Hm.</think> So \\boxed{@}",
    "search_r1_like_qa_em": "<answer>@</answer>",
    "math_verify": "so \\boxed{@}.",
}
ODD_TRUTHS: list[Any] = [
    *[72, 72.0, 0.5, -5, True, None],
    *[[], ["72"], {}, {"target": []}, {"target": None}, {"a": 1}],
]
# What only somebody who knows the scorer would write.
HOSTILE = [
    ("prime_math", "The answer is \\boxed{max(2*\\pi,1)}", "2\\pi"),
    ("prime_math", "The answer is \\boxed{Matrix([[abs(-1)],[len([1,2])]])}", ANSWERS[24][0]),
]


def pairs() -> list[tuple[str, str]]:
    """Pairs of a truth and an answer."""
    rng = random.Random(7)
    flat = [answer for group in ANSWERS for answer in group]
    found = [(truth, truth) for truth in flat]
    for group in ANSWERS:
        found += [(group[0], answer) for answer in group[1:]]
        found += [(answer, group[0]) for answer in group[1:]]
    found += [(rng.choice(flat), rng.choice(flat)) for _ in range(60)]
    return found


def rows_of(scorer: str) -> list[Row]:
    """A few hundred rows for one scorer."""
    sources = SOURCES[scorer]
    rows: list[Row] = []

    def add(truth: Any, response: str) -> None:
        if scorer == "search_r1_like_qa_em" and isinstance(truth, str):
            truth = {"target": truth}
        source = sources[len(rows) % len(sources)]
        rows.append(Row(f"{scorer}-{len(rows)}", source, response, truth))

    # Where a comparison is slow in verl (a process for each), a part of them.
    every = {"prime_math": 3, "geo3k": 3, "math_verify": 6}.get(scorer, 1)
    for position, (truth, answer) in enumerate(pairs()[::every]):
        # verl's scorer takes as long for these as its time limit is, or nearly so.
        if scorer == "math_verify" and "(((" in truth + answer:
            continue
        form = FORMS[position % len(FORMS)] if position % 3 == 0 else PLAIN_FORM[scorer]
        add(truth, form.replace("@", answer))
    for position, form in enumerate(FORMS):
        for truth in ("72", "\\frac{1}{2}"):
            add(truth, form.replace("@", truth))
        add("(1,2)", form.replace("@", ANSWERS[position % len(ANSWERS)][0]))
    for truth in ODD_TRUTHS:
        add(truth, PLAIN_FORM[scorer].replace("@", "72"))
    if scorer == "search_r1_like_qa_em":
        for target in (["Paris", "the apple"], "apple", [72, "x"], ["the"], "a", [""]):
            for answer in ("apple", "72", "the", "", "paris!", "a"):
                add({"target": target}, f"<answer>{answer}</answer>")
    for owner, response, truth in HOSTILE:
        if owner == scorer:
            add(truth, response)
    return rows


CORPUS = {scorer: rows_of(scorer) for scorer in SOURCES}
UNKNOWN = [Row("unknown", "openai/gsm8", "#### 1", "1"), Row("none", "", "#### 1", "1")]
