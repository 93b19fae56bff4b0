"""SQL by SQLite's shell, on a database in memory.

The program is the shell's script, with its dot commands: standard input is there as a file, so that
a problem can hand in its tables as SQL (`.read /dev/stdin`) or as rows (`.import /dev/stdin t`).
"""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

SQL = Recipe(
    name="sql",
    title="SQL (SQLite)",
    aliases=("sqlite", "sqlite3"),
    family="scripts",
    packages=("sqlite3",),
    sandbox_fusion=("sql",),
    # A query in an answer explains more often than it answers.
    by_tag=False,
    source_name="main.sql",
    run_harness=Harness.EXEC,
    # There is no check without the tables.
    compile_argv=("true",),
    outputs=("main.sql",),
    run_argv=("sqlite3", "-batch", "-bail", ":memory:", ".read /program/main.sql"),
    version_argv=("sqlite3", "--version"),
    self_test='CREATE TABLE t(a INTEGER, b INTEGER);\n.separator " "\n.import /dev/stdin t\n'
    "SELECT a + b FROM t;\n",
    memory_marks=(b"out of memory",),
    stack_overflow="an error, exit code 1",
    notes=(
        "Standard input is `/dev/stdin` of `.read` and `.import`. A wrong statement is a runtime "
        "error (exit code 1): SQL has no compile step."
    ),
)
