"""The choice of two scorers of verl 0.9.1, for runs that have to be compared with theirs.

Both split at backticks and look at nothing else: reasoning is not cut, tags other than "python" are
unknown.
"""

from __future__ import annotations

_FENCE = "```"
_PYTHON = "```python"


def sandbox_fusion(response: str) -> str | None:
    """What follows the last "```python"; else what is between the first two fences."""
    if _PYTHON in response:
        return _between_last(response)
    _, fence, rest = response.partition(_FENCE)
    if not fence:
        return None
    body = rest.partition(_FENCE)[0]
    first, newline, remainder = body.partition("\n")
    return remainder if newline and first.strip().isalpha() else body


def prime_code(response: str) -> str:
    """What follows the last "```python" (or the start), up to the next fence."""
    return _between_last(response)


def _between_last(response: str) -> str:
    return response.rpartition(_PYTHON)[2].partition(_FENCE)[0]
