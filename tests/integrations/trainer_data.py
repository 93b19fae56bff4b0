"""Responses and test cases of the integrations' tests."""

from __future__ import annotations

TRUTH = '{"inputs": ["1 2\\n", "10 -4\\n"], "outputs": ["3\\n", "6\\n"]}'
ADD = "```python\na, b = map(int, input().split())\nprint(a + b)\n```"
PROSE = "I would add them."
