"""Builds an image of each family, tries its languages, and prints the table of docs/images.md.

    python3 -m sandbox_images.measure                 every family, and --full and --all
    python3 -m sandbox_images.measure go rust --full  these

The images are bootstrapped one after the other, and removed again. It needs this checkout's Python
environment, for `verifier images verify`. The exit code is 1 when a language failed in an image.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from sandbox_images import __main__ as command
from sandbox_images.recipe import FAMILIES, HERE

TAG = "verifier-sandbox:measured"
WHOLE = ("--full", "--all")
HEAD = "| image of | MB | built in s | its languages, each verified |\n|---|---|---|---|"


def main(words: list[str]) -> int:
    """Measure what is asked for, a row as each is done."""
    print(HEAD, flush=True)
    worked = [row(word) for word in words or (*FAMILIES, *WHOLE)]
    return 0 if all(worked) else 1


def row(word: str) -> bool:
    """Print the row of a family, or of `--full`; whether all its languages work."""
    begun = time.monotonic()
    build = [sys.executable, "-m", "sandbox_images", word, "--bootstrap", "--force", "--tag", TAG]
    done = subprocess.run(build, cwd=HERE.parent, capture_output=True, text=True, check=False)
    took = time.monotonic() - begun
    if done.returncode != 0:
        print(f"| {word} | - | - | not built: {done.stderr.strip().splitlines()[-1]} |", flush=True)
        return False
    size = int(command.inspect(TAG, "{{.Size}}") or 0)
    languages, broken = verified()
    subprocess.run(["docker", "image", "rm", TAG], capture_output=True, check=True)
    said = ", ".join(languages) + "".join(f"; FAILED: {one}" for one in broken)
    print(f"| {word} | {size / 1e6:.0f} | {took:.0f} | {said} |", flush=True)
    return not broken


def verified() -> tuple[list[str], list[str]]:
    """The languages whose self-test passed in the image, and what the others did."""
    words = [sys.executable, "-m", "verifier.cli", "images", "verify", TAG, "--json"]
    done = subprocess.run(words, cwd=HERE.parent, capture_output=True, text=True, check=False)
    try:
        rows = json.loads(done.stdout)
    except ValueError:
        return [], [done.stderr.strip()]
    broken = [f"{one['language']} ({one.get('problem')})" for one in rows if not one["ok"]]
    return [one["language"] for one in rows if one["ok"]], broken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
