"""Lays the agent and the jail's library where runner containers find them.

    python3 -m verifier.sandbox.runners.install FOLDER

Run before they start (compose's `init` service, a pod's init container), from the gateway's own
image: so both are always of one version, and any image with /usr/bin/python3 can be a runner's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from verifier.runner.build import jail_library, runner_zipapp

AGENT, LIBRARY = "runner.pyz", "libjail.so"


def install(folder: Path) -> None:
    """Write both files, complete or not at all.

    Raises:
        OSError: They cannot be written.
        BackendError: They cannot be built.
    """
    for name, source in ((AGENT, runner_zipapp()), (LIBRARY, jail_library())):
        scratch = folder / f".{name}.{os.getpid()}"
        scratch.write_bytes(source.read_bytes())
        scratch.chmod(0o644)
        scratch.replace(folder / name)


if __name__ == "__main__":
    install(Path(sys.argv[1]))
