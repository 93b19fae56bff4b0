"""From a response to a program: pure, in linear time, and nothing is executed to decide.

1. Reasoning is cut: everything up to the last closing reasoning tag. Reasoning that never ends
   means that there is no answer (`scan`).
2. What remains is read as Markdown; the fenced blocks are the candidates (`scan`).
3. One candidate is chosen by its tag, by whether it parses, and by whether it defines the entry
   point (`choose`). Blocks are alternatives, never parts: nothing is joined.
4. Without a usable block, the bare text is accepted if it is a program.

`verifier extract` prints the choice and the reason.
"""

from __future__ import annotations

from verifier.extraction.response import POLICIES, Extracted, extract

__all__ = ["POLICIES", "Extracted", "extract"]
