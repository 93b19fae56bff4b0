"""PHP. It has no threads: its programs start processes."""

from tests.languages.cells.base import Cell, Cells, Kind
from verifier.types import Status

CELLS: Cells = {
    Kind.WRONG_ANSWER: "<?php echo 6;",
    Kind.COMPILE_ERROR: "<?php echo ;;(",
    Kind.EXIT_CODE: "<?php exit(3);",
    Kind.CPU: "<?php while (true) {}",
    Kind.SLEEP: "<?php sleep(60);",
    Kind.MEMORY: '<?php\n$kept = [];\nwhile (true) $kept[] = str_repeat("x", 1 << 22);',
    Kind.FLOOD: '<?php while (true) echo str_repeat("x", 1000), "\\n";',
    Kind.BIG_STDIN: """<?php
$all = stream_get_contents(STDIN);
echo substr_count($all, "\\n"), " ", substr_count($all, "x"), "\\n";
""",
    Kind.UNICODE: '<?php echo "→", rtrim(fgets(STDIN), "\\n"), "✓\\n";',
    Kind.THREADS: """<?php
$children = [];
for ($i = 0; $i < 4; $i++) {
    $pid = pcntl_fork();
    if ($pid === 0) exit(array_sum(range(1, 1000)) === 500500 ? 0 : 1);
    $children[] = $pid;
}
$done = 0;
foreach ($children as $pid) {
    pcntl_waitpid($pid, $status);
    if (pcntl_wexitstatus($status) === 0) $done++;
}
echo $done, "\\n";
""",
    Kind.RECURSION: """<?php
function depth(int $n): int { return $n === 0 ? 0 : 1 + depth($n - 1); }
echo depth(20000), "\\n";
""",
    Kind.ENDLESS_RECURSION: Cell(
        "<?php\nfunction f($n) { return 1 + f($n + 1); }\necho f(0);",
        why="its frames are on the heap, and nothing bounds them",
        status=Status.MEMORY_LIMIT,
    ),
    Kind.FORBIDDEN: """<?php
$held = "";
foreach (["/etc/shadow", "/proc/1/environ"] as $path) $held .= @file_get_contents($path);
echo $held === "" ? "refused" : $held, "\\n";
""",
}
