"""The command line: `verifier serve | score | run | extract | doctor`. See docs/cli.md."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `verifier` command."""
    from verifier.cli.app import app

    app(prog_name="verifier")


__all__ = ["main"]
