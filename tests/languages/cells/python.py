"""Python."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "print(6)",
    Kind.COMPILE_ERROR: "print(",
    Kind.EXIT_CODE: "import sys\nsys.exit(3)",
    Kind.CPU: "while True: pass",
    Kind.SLEEP: "import time\ntime.sleep(60)",
    Kind.MEMORY: "kept = []\nwhile True: kept.append(bytearray(b'x') * (1 << 22))",
    Kind.FLOOD: "while True: print('x' * 1000)",
    Kind.BIG_STDIN: "import sys\nall = sys.stdin.read()\nprint(all.count('\\n'), all.count('x'))",
    Kind.UNICODE: "print('→' + input() + '✓')",
    Kind.THREADS: """
import threading
done = []
def work():
    done.append(sum(range(1000)))
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(len(done))
""",
    Kind.RECURSION: """
import sys
sys.setrecursionlimit(10**6)
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
print(depth(20000))
""",
    Kind.ENDLESS_RECURSION: "def f(n): return 1 + f(n + 1)\nprint(f(0))",
    Kind.FORBIDDEN: """
held = ""
for path in ("/etc/shadow", "/proc/1/environ"):
    try:
        held += open(path).read()
    except OSError:
        pass
print(held or "refused")
""",
}
