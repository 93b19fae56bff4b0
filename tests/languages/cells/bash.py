"""Bash. Its threads are background jobs."""

from tests.languages.cells.base import Cell, Cells, Kind
from verifier.types import LimitOverrides, Status

_SLOWER = "a call takes time by its depth (FUNCNAME is numbered anew): 20,000 deep is a minute"

CELLS: Cells = {
    Kind.WRONG_ANSWER: "echo 6",
    Kind.COMPILE_ERROR: "if true; then",
    Kind.EXIT_CODE: "exit 3",
    Kind.CPU: "while :; do :; done",
    Kind.SLEEP: "sleep 60",
    Kind.MEMORY: "kept=x\nwhile :; do kept+=$kept; done",
    Kind.FLOOD: "yes",
    Kind.BIG_STDIN: """
lines=0
xs=0
while IFS= read -r line; do
  only=${line//[^x]/}
  ((lines += 1, xs += ${#only}))
done
echo "$lines $xs"
""",
    Kind.UNICODE: 'IFS= read -r line\necho "→${line}✓"',
    Kind.THREADS: """
for i in 1 2 3 4; do
  (sum=0; for n in {1..1000}; do ((sum += n)); done; echo "$sum" > "$i") &
done
wait
cat 1 2 3 4 | wc -l
""",
    Kind.RECURSION: Cell(
        """
depth() {
  if (($1 == 0)); then
    result=0
  else
    depth $(($1 - 1))
    ((result += 1))
  fi
}
depth 20000
echo "$result"
""",
        why=_SLOWER,
        status=Status.TIME_LIMIT,
        stdout=b"",
        limits=LimitOverrides(cpu_time_s=1.0),
    ),
    Kind.ENDLESS_RECURSION: Cell(
        "f() {\n  f $(($1 + 1))\n  :\n}\nf 0",
        why=_SLOWER,
        status=Status.TIME_LIMIT,
        limits=LimitOverrides(cpu_time_s=1.0),
    ),
    Kind.FORBIDDEN: """
held=$(cat /etc/shadow /proc/1/environ 2> /dev/null | tr -d '\\0')
echo "${held:-refused}"
""",
}
