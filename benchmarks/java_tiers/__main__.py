"""Java's programs with the JVM's first compiler alone, and with both: CPU seconds side by side.

    python -m benchmarks.java_tiers [--rounds N]

CPU is of the whole process: the second compiler's own threads are in it, as they are in a run's
limit. Rounds are interleaved, each number is a median.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import children
from verifier.languages.jar import RUN_ARGV

SOURCE = Path(__file__).with_name("Work.java")
KINDS = ("nothing", "scanner", "text", "sieve", "partitions", "matrix", "map", "sort")
FIRST = "-XX:TieredStopAtLevel=1"


def cpu_s(folder: str, flags: tuple[str, ...], kind: str) -> float:
    """CPU seconds of one run."""
    command = [word.replace("{heap_mb}", "768") for word in RUN_ARGV[: RUN_ARGV.index("-jar")]]
    return children.cpu_s([*command, *flags, "-cp", folder, "Work", kind])


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="One compiler of the JVM against both.")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| program | first compiler alone, s | both, s | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["javac", "-d", folder, SOURCE], check=True)
        for kind in KINDS:
            pairs = [
                (cpu_s(folder, (FIRST,), kind), cpu_s(folder, (), kind)) for _ in range(rounds)
            ]
            first, both = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"| {kind} | {first:.2f} | {both:.2f} | {both / first:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
