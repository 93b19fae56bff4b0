"""What a checker or an interactor says."""

from __future__ import annotations

from verifier.judging.programs import CHECKER_STYLES, INTERACTOR_STYLES, answer_of
from verifier.limits import MAX_LIMITS
from verifier.types import Checker, Interactor, RunFacts

WORDS = (
    b'[ ] { } , : "ok" "value" true false null NaN points 1e400 0.5 1e999 -1 100 "error"'
).split()


def target(data: bytes) -> None:
    options, said = data[:2].ljust(2, b"\0"), data[2:]
    helper: Checker | Interactor = Checker("", style=CHECKER_STYLES[options[0] % 4])
    if options[0] & 0x80:
        helper = Interactor("", style=INTERACTOR_STYLES[options[0] % 2])
    facts = RunFacts(exit_code=options[1] % 64, stdout=said, stderr=said, returned=said)
    answer_of(helper, facts, MAX_LIMITS)


def seeds() -> list[bytes]:
    said = [
        b'{"ok": true, "value": [0.5, "half"]}',
        b'{"ok": true, "value": 1' + b"0" * 400 + b"}",
        b'{"ok": false, "error": "x"}',
        b"points 0.5 well done\n",
        b" 100\n",
        b"1e3",
    ]
    options = [bytes([style, code]) for style in (0, 1, 2, 3, 128, 129) for code in (0, 7, 42)]
    return [o + text for o in options for text in said]
