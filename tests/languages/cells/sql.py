"""SQL, in SQLite's shell."""

from tests.languages.cells.base import Cell, Cells, Impossible, Kind
from verifier.types import Status

_ENDLESS = "WITH RECURSIVE f(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM f)\n"
CELLS: Cells = {
    Kind.WRONG_ANSWER: "SELECT 6;",
    Kind.COMPILE_ERROR: Cell(
        "SELEC 5;",
        why="statements are compiled one by one, when those before them have run",
        status=Status.RUNTIME_ERROR,
        exit_code=1,
    ),
    Kind.EXIT_CODE: ".exit 3",
    Kind.CPU: _ENDLESS + "SELECT count(*) FROM f;",
    Kind.SLEEP: ".shell sleep 60",  # statements cannot wait
    Kind.MEMORY: f"""
CREATE TABLE t(b BLOB);
{_ENDLESS}INSERT INTO t SELECT randomblob(1 << 20) FROM f;
""",
    Kind.FLOOD: _ENDLESS + "SELECT printf('%.1000c', 'x') FROM f;",
    Kind.BIG_STDIN: """
CREATE TABLE t(line TEXT);
.import /dev/stdin t
SELECT count(*) || ' ' || sum(length(line) - length(replace(line, 'x', ''))) FROM t;
""",
    Kind.UNICODE: """
CREATE TABLE t(line TEXT);
.import /dev/stdin t
SELECT '→' || line || '✓' FROM t;
""",
    Kind.THREADS: Impossible("SQL starts no threads"),
    Kind.RECURSION: """
WITH RECURSIVE f(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM f WHERE n < 20000)
SELECT max(n) FROM f;
""",
    Kind.ENDLESS_RECURSION: """
PRAGMA recursive_triggers = ON;
CREATE TABLE t(n INTEGER);
CREATE TRIGGER f AFTER INSERT ON t BEGIN INSERT INTO t VALUES (new.n + 1); END;
INSERT INTO t VALUES (0);
""",
    Kind.FORBIDDEN: """
SELECT coalesce(readfile('/etc/shadow'), readfile('/proc/1/environ'), 'refused');
""",
}
