"""Octave. Its threads are forked processes."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "disp(6)",
    Kind.COMPILE_ERROR: "x = (1;",
    Kind.EXIT_CODE: "exit(3)",
    Kind.CPU: "while true, end",
    Kind.SLEEP: "pause(60)",
    Kind.MEMORY: "kept = {};\nwhile true\n  kept{end + 1} = ones(1, 2^19);\nend",
    Kind.FLOOD: 'while true\n  disp(repmat("x", 1, 1000));\nend',
    Kind.BIG_STDIN: """
all = fread(stdin, Inf, "char");
printf("%d %d\\n", sum(all == 10), sum(all == "x"));
""",
    Kind.UNICODE: 'printf("→%s✓\\n", fgetl(stdin));',
    Kind.THREADS: """
children = [];
for i = 1:4
  child = fork();
  if child == 0
    exit(sum(1:1000) != 500500);
  end
  children(end + 1) = child;
end
finished = 0;
for child = children
  [~, status] = waitpid(child);
  finished += WEXITSTATUS(status) == 0;
end
disp(finished)
""",
    Kind.RECURSION: """
1;
function d = depth(n)
  if n == 0
    d = 0;
  else
    d = 1 + depth(n - 1);
  end
end
max_recursion_depth(100000);
max_stack_depth(100000);
disp(depth(20000))
""",
    Kind.ENDLESS_RECURSION: "1;\nfunction y = f(n)\n  y = 1 + f(n + 1);\nend\ndisp(f(0))",
    Kind.FORBIDDEN: """
held = "";
for path = {"/etc/shadow", "/proc/1/environ"}
  file = fopen(path{1});
  if file >= 0
    held = [held, fread(file, Inf, "char=>char")'];
  end
end
if isempty(held)
  disp("refused")
else
  disp(held)
end
""",
}
