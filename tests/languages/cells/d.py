"""D."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "import std.stdio;\nvoid main() { writeln(6); }",
    Kind.COMPILE_ERROR: "int main() {",
    Kind.EXIT_CODE: "int main() { return 3; }",
    Kind.CPU: "void main() { for (;;) {} }",
    Kind.SLEEP: "import core.thread, core.time;\nvoid main() { Thread.sleep(60.seconds); }",
    Kind.MEMORY: """
void main() {
    ubyte[][] kept;
    for (;;) {
        auto block = new ubyte[1 << 22];
        block[] = 1;
        kept ~= block;
    }
}
""",
    Kind.FLOOD: """
import std.array, std.stdio;
void main() { for (;;) writeln("x".replicate(1000)); }
""",
    Kind.BIG_STDIN: """
import std.algorithm, std.stdio;
void main() {
    size_t lines, xs;
    foreach (line; stdin.byLine) {
        ++lines;
        xs += line.count('x');
    }
    writeln(lines, " ", xs);
}
""",
    Kind.UNICODE: """
import std.stdio, std.string;
void main() { writeln("→", readln().chomp, "✓"); }
""",
    Kind.THREADS: """
import core.atomic, core.thread, std.algorithm, std.range, std.stdio;
shared int finished;
void work() { if (iota(1000).sum == 499_500) finished.atomicOp!"+="(1); }
void main() {
    Thread[] threads;
    foreach (i; 0 .. 4) threads ~= new Thread(&work).start();
    foreach (thread; threads) thread.join();
    writeln(finished.atomicLoad);
}
""",
    Kind.RECURSION: """
import std.stdio;
int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
void main() { writeln(depth(20_000)); }
""",
    Kind.ENDLESS_RECURSION: """
import std.stdio;
double f(double n) { return 1 / f(n + 1); }
void main() { writeln(f(0)); }
""",
    Kind.FORBIDDEN: """
import std.exception, std.file, std.stdio;
void main() {
    string held;
    foreach (path; ["/etc/shadow", "/proc/1/environ"])
        held ~= readText(path).ifThrown("");
    writeln(held.length ? held : "refused");
}
""",
}
