"""`python -m verifier.cli`: the command line where the `verifier` script is not on the PATH."""

from __future__ import annotations

from verifier.cli import main

main()
