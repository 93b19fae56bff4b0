"""What is true of this host, is no guarantee, and should be known: each with what to type."""

from __future__ import annotations

import contextlib
from pathlib import Path

# One file for each known weakness of processors: "Not affected", "Mitigation: ...", "Vulnerable".
WEAKNESSES = Path("/sys/devices/system/cpu/vulnerabilities")


def host_notes(weaknesses: Path = WEAKNESSES) -> tuple[str, ...]:
    """One sentence for each; empty where there is nothing to say."""
    open_ones = []
    for path in sorted(weaknesses.glob("*")):
        with contextlib.suppress(OSError):  # not readable: nothing is known
            if path.read_text(encoding="utf-8", errors="replace").startswith("Vulnerable"):
                open_ones.append(path.name)
    if not open_ones:
        return ()
    # No sandbox of processes stands in the way of what one program can make the processor tell of
    # another.
    said = (
        f"the kernel calls this processor vulnerable ({', '.join(open_ones)}): a program may read "
        f"what is not its own through it. See grep . {weaknesses}/*; update the microcode and the "
        "kernel, and boot without mitigations=off"
    )
    return (said,)
