"""Go. Its threads are goroutines."""

from tests.languages.cells.base import Cells, Kind


def _main(imports: str, body: str, functions: str = "") -> str:
    named = "".join(f'import "{name}"\n' for name in imports.split())
    return f"package main\n{named}{functions}\nfunc main() {{{body}}}\n"


CELLS: Cells = {
    Kind.WRONG_ANSWER: _main("fmt", "fmt.Println(6)"),
    Kind.COMPILE_ERROR: _main("", "x := 1"),
    Kind.EXIT_CODE: _main("os", "os.Exit(3)"),
    Kind.CPU: _main("", "for n := 0; ; n++ {}"),
    Kind.SLEEP: _main("time", "time.Sleep(time.Minute)"),
    Kind.MEMORY: _main(
        "",
        """
    kept := [][]byte{}
    for {
        block := make([]byte, 1<<22)
        for i := range block { block[i] = 1 }
        kept = append(kept, block)
    }
""",
    ),
    Kind.FLOOD: _main(
        "fmt strings", 'for line := strings.Repeat("x", 1000); ; { fmt.Println(line) }'
    ),
    Kind.BIG_STDIN: _main(
        "bufio fmt os strings",
        """
    lines, found := 0, 0
    for in := bufio.NewScanner(os.Stdin); in.Scan(); lines++ {
        found += strings.Count(in.Text(), "x")
    }
    fmt.Println(lines, found)
""",
    ),
    Kind.UNICODE: _main(
        "bufio fmt os",
        """
    in := bufio.NewScanner(os.Stdin)
    in.Scan()
    fmt.Println("→" + in.Text() + "✓")
""",
    ),
    Kind.THREADS: _main(
        "fmt",
        """
    done := make(chan int)
    for i := 0; i < 4; i++ {
        go func() {
            sum := 0
            for j := 0; j < 1000; j++ { sum += j }
            done <- sum
        }()
    }
    right := 0
    for i := 0; i < 4; i++ {
        if <-done == 499500 { right++ }
    }
    fmt.Println(right)
""",
    ),
    Kind.RECURSION: _main(
        "fmt",
        "fmt.Println(depth(20000))",
        "func depth(n int) int { if n == 0 { return 0 }; return 1 + depth(n-1) }",
    ),
    Kind.ENDLESS_RECURSION: _main(
        "fmt", "fmt.Println(f(0))", "func f(n int) int { return 1 + f(n+1) }"
    ),
    Kind.FORBIDDEN: _main(
        "fmt os",
        """
    held := ""
    for _, path := range []string{"/etc/shadow", "/proc/1/environ"} {
        if content, err := os.ReadFile(path); err == nil { held += string(content) }
    }
    if held == "" { held = "refused" }
    fmt.Println(held)
""",
    ),
}
