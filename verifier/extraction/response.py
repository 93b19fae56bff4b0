"""The one entry point of this package."""

from __future__ import annotations

from dataclasses import dataclass

from verifier import languages
from verifier._text import to_text, to_utf8
from verifier.errors import RequestError
from verifier.extraction import compat
from verifier.extraction.choose import Chooser, explain_none
from verifier.extraction.scan import MAX_EVENTS, scan
from verifier.types import Extraction, Program

POLICIES: tuple[str, ...] = ("last", "first", "longest", "verl-sf", "prime")


@dataclass(frozen=True, slots=True)
class Extracted:
    """The program, or None where there is none, and how that was decided."""

    program: Program | None
    extraction: Extraction


def extract(
    response: str | bytes,
    *,
    language: str | None = None,
    entry_point: str | None = None,
    policy: str = "last",
) -> Extracted:
    """Take the program out of a model's response.

    Never raises on what the response holds, and takes time linear in its size.

    Args:
        response: Anything: bytes that are not UTF-8 and lone surrogates become U+FFFD.
        language: Wanted language (name or alias); None: the response's tags say.
        entry_point: A function that the tests call; blocks that define it are preferred.
        policy: One of `POLICIES`.

    Raises:
        RequestError: Unknown language or policy.
    """
    recipe = languages.get(language) if language else None
    wanted = (recipe.written_as or recipe.name) if recipe else None
    if policy not in POLICIES:
        raise RequestError("extraction_policy", f"{policy!r} is none of {', '.join(POLICIES)}")
    text = to_text(response)
    if policy in ("verl-sf", "prime"):
        return _as_verl(text, recipe.name if recipe else "python", policy)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = scan(text)
    if found.overflow:
        return _nothing(f"over {MAX_EVENTS} fences and reasoning tags: not an answer")
    if found.in_reasoning:
        return _nothing("the reasoning never ends, so there is no answer", found.cut)
    count = len(found.blocks)
    choice = Chooser(wanted, entry_point, policy).choose(text, found.blocks, found.cut)
    if choice is None:
        return _nothing(explain_none(found.blocks, wanted), found.cut, count)
    source = to_utf8(choice.text)
    name = recipe.name if recipe else choice.language
    facts = Extraction(name, choice.block, count, choice.reason, found.cut, source)
    return Extracted(Program(name, source, facts), facts)


def _nothing(reason: str, cut: int = 0, blocks: int = 0) -> Extracted:
    return Extracted(None, Extraction("", None, blocks, reason, cut))


def _as_verl(text: str, language: str, policy: str) -> Extracted:
    source = compat.sandbox_fusion(text) if policy == "verl-sf" else compat.prime_code(text)
    fences = text.count("```") // 2
    if source is None:
        return _nothing("no fence (as verl's sandbox_fusion scorer decides)")
    name = "sandbox_fusion" if policy == "verl-sf" else "prime_code"
    data = to_utf8(source)
    reason = f"as verl's {name} scorer decides"
    facts = Extraction(language, None, fences, reason, source=data)
    return Extracted(Program(language, data, facts), facts)
