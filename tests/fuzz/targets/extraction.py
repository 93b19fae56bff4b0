"""A model's response."""

from __future__ import annotations

from verifier.extraction import POLICIES, extract

LANGUAGES = (None, "python", "cpp", "c", "java", "javascript")
ENTRY_POINTS = (None, "f", "Solution().f")
PROGRAM = "a, b = map(int, input().split())\nprint(a + b)\n"
WORDS = (
    b"```\0~~~\0````\0\n```python\n\0\n```\n\0<think>\0</think>\0<|im_end|>\0</answer>\0{.python}"
    b"\0> \x001. \0\r\n\0[/THINK]\0print(1)\n\0def f():\0int main() {\0'''\0    \0# \0/*\0*/"
    b"\0<|channel|>final<|message|>\0import \0python\0cpp\0java\0text"
).split(b"\0")


def target(data: bytes) -> None:
    options, response = data[:3].ljust(3, b"\0"), data[3:]
    found = extract(
        response if options[0] & 1 else response.decode("utf-8", "surrogateescape"),
        language=LANGUAGES[options[1] % len(LANGUAGES)],
        policy=POLICIES[(options[0] >> 1) % len(POLICIES)],
        entry_point=ENTRY_POINTS[options[2] % len(ENTRY_POINTS)],
    )
    assert found.extraction.reason
    if found.program is not None:
        found.program.source.decode()
        index = found.extraction.block_index
        assert index is None or 0 <= index < found.extraction.block_count


def seeds() -> list[bytes]:
    fenced = f"```python\n{PROGRAM}```\n"
    texts = [
        fenced,
        f"<think>\n{fenced}</think>\n{fenced}",
        f"````markdown\n{fenced}````\n",
        f"~~~py\n{PROGRAM}~~~\n",
        f"> ```\n> {PROGRAM}> ```<|im_end|>",
        f"1. ```{{.python}}\n   {PROGRAM}",
        f"<|channel|>analysis<|message|>{fenced}<|channel|>final<|message|>{fenced}",
        "[THINK]x[/THINK]```cpp\n#include <a>\nint main() {}\n```",
        PROGRAM,
    ]
    return [bytes([n, n % 5, n]) + text.encode() for n, text in enumerate(texts)]
