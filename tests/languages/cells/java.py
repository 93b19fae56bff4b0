"""Java."""

from tests.languages.cells.base import Cells, Kind

_MAIN = """
import java.io.*;
import java.nio.file.*;
import java.util.*;
public class Main {
    static int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
    static int endless(int n) { return 1 + endless(n + 1); }
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        %s
    }
}
"""


def _main(body: str) -> str:
    return _MAIN % body


CELLS: Cells = {
    Kind.WRONG_ANSWER: _main("System.out.println(6);"),
    Kind.COMPILE_ERROR: "public class Main { int x = ; }",
    Kind.EXIT_CODE: _main("System.exit(3);"),
    Kind.CPU: _main("for (;;);"),
    Kind.SLEEP: _main("Thread.sleep(60_000);"),
    Kind.MEMORY: _main(
        "List<int[]> kept = new ArrayList<>(); for (;;) kept.add(new int[1 << 20]);"
    ),
    Kind.FLOOD: _main('String line = "x".repeat(1000); for (;;) System.out.println(line);'),
    Kind.BIG_STDIN: _main("""
        int lines = 0, found = 0;
        for (String line; (line = in.readLine()) != null; lines++)
            for (char c : line.toCharArray()) if (c == 'x') found++;
        System.out.println(lines + " " + found);
"""),
    Kind.UNICODE: _main('System.out.println("→" + in.readLine() + "✓");'),
    Kind.THREADS: _main("""
        var done = new java.util.concurrent.atomic.AtomicInteger();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            threads[i] = new Thread(() -> {
                long sum = 0;
                for (int j = 0; j < 1000; j++) sum += j;
                if (sum == 499500) done.incrementAndGet();
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(done);
"""),
    Kind.RECURSION: _main("System.out.println(depth(20000));"),
    Kind.ENDLESS_RECURSION: _main("System.out.println(endless(0));"),
    Kind.FORBIDDEN: _main("""
        String held = "";
        for (String path : new String[] {"/etc/shadow", "/proc/1/environ"}) {
            try {
                held += Files.readString(Path.of(path));
            } catch (IOException refused) {
            }
        }
        System.out.println(held.isEmpty() ? "refused" : held);
"""),
}
