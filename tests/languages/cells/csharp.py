"""C#."""

from tests.languages.cells.base import Cells, Kind

_PROGRAM = """
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;

class Program {
    static int Depth(int n) { return n == 0 ? 0 : 1 + Depth(n - 1); }
    static int Endless(int n) { return 1 + Endless(n + 1); }
    static void Main() {
        %s
    }
}
"""


def _main(body: str) -> str:
    return _PROGRAM % body


CELLS: Cells = {
    Kind.WRONG_ANSWER: _main("Console.WriteLine(6);"),
    Kind.COMPILE_ERROR: _main("int x = ;"),
    Kind.EXIT_CODE: _main("Environment.Exit(3);"),
    Kind.CPU: _main("for (;;);"),
    Kind.SLEEP: _main("Thread.Sleep(60000);"),
    Kind.MEMORY: _main("""
        var kept = new List<byte[]>();
        for (;;) {
            var block = new byte[1 << 22];
            for (int i = 0; i < block.Length; i += 512) block[i] = 1;
            kept.Add(block);
        }
"""),
    Kind.FLOOD: _main("var line = new string('x', 1000); for (;;) Console.WriteLine(line);"),
    Kind.BIG_STDIN: _main("""
        var all = Console.In.ReadToEnd();
        Console.WriteLine(all.Count(c => c == '\\n') + " " + all.Count(c => c == 'x'));
"""),
    Kind.UNICODE: _main('Console.WriteLine("→" + Console.ReadLine() + "✓");'),
    Kind.THREADS: _main("""
        int done = 0;
        var threads = Enumerable.Range(0, 4).Select(_ => new Thread(() => {
            if (Enumerable.Range(0, 1000).Sum() == 499500) Interlocked.Increment(ref done);
        })).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
        Console.WriteLine(done);
"""),
    Kind.RECURSION: _main("Console.WriteLine(Depth(20000));"),
    Kind.ENDLESS_RECURSION: _main("Console.WriteLine(Endless(0));"),
    Kind.FORBIDDEN: _main("""
        var held = "";
        foreach (var path in new[] {"/etc/shadow", "/proc/1/environ"}) {
            try {
                held += File.ReadAllText(path);
            } catch (IOException) {
            } catch (UnauthorizedAccessException) {
            }
        }
        Console.WriteLine(held == "" ? "refused" : held);
"""),
}
