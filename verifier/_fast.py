"""Two libraries that do in bulk what the interpreter does one by one; neither is needed.

orjson reads a million numbers in a tenth of the time, numpy sorts lines as integers. Both are used
for large data alone, and only where they are exact: what they are not sure of is done the plain
way, and a test holds that no verdict depends on them. `pip install 'sandbox-verifier[fast]'`.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

# Data below this size is read the plain way: there is no time to be won.
LARGE_BYTES = 64 * 1024

# All digits look alike: a long row of them is found at once.
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
# Fewer digits than that are an integer that orjson reads exactly: below 2**63.
_LONG_INTEGER = b"0" * 19


@functools.cache
def arrays() -> ModuleType | None:
    """numpy, imported when it is first of use (0.1 s); None where it is not installed."""
    return _module("numpy")


def json_value(data: bytes, *, integers: bool = True) -> Any:
    """One JSON value, read by orjson: as `json.loads` reads it, or not at all.

    Args:
        data: JSON.
        integers: There may be integers in it, which have to fit 64 bits.

    Raises:
        ValueError: It is not JSON, or orjson is not here, or nothing that it reads exactly.
    """
    if orjson is None:
        raise ValueError("orjson is not installed")
    if integers and _LONG_INTEGER in data.translate(_DIGITS):
        raise ValueError("integers that may not fit 64 bits")
    return orjson.loads(data)


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


orjson = _module("orjson")
