"""Writes gateway.txt: each library of the gateway's image, to the version.

    python3 -m sandbox_images.lock

Run it with a pip that reaches an index, after a dependency was added or to take newer versions.
"""

from __future__ import annotations

import json
import subprocess
import sys

from sandbox_images.recipe import HERE

LOCK = HERE / "gateway.txt"
HEADER = (
    "# What the gateway's image holds beside this package, to the version. "
    "Written by: python3 -m sandbox_images.lock\n"
)
EXTRAS = ("server", "docker")


def main() -> int:
    """Resolve and write."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"),
            *("--ignore-installed", "--only-binary=:all:", "--report", "-"),
            f"{HERE.parent}[{','.join(EXTRAS)}]",
        ],
        stdout=subprocess.PIPE,
        check=True,
    )
    found = [one["metadata"] for one in json.loads(done.stdout)["install"]]
    lines = sorted(
        f"{one['name'].lower().replace('_', '-')}=={one['version']}\n"
        for one in found
        if one["name"] != "sandbox-verifier"
    )
    LOCK.write_text(HEADER + "".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
