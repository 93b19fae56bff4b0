"""Of each language a program that exits with code 3, one that does not compile, and a wrong one.

The right one is the recipe's own self-test. A wrong one prints 6 whatever it reads.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Programs:
    """Sources.

    Attributes:
        wrong: Prints 6.
        exits: Ends with exit code 3.
        broken: Does not compile; "" where the language has no compile step that could say so.
    """

    wrong: str
    exits: str
    broken: str = ""


_C_EXITS = "#include <stdlib.h>\nint main() { exit(3); }\n"
PROGRAMS: dict[str, Programs] = {
    "python": Programs("print(6)", "import sys\nsys.exit(3)", "print("),
    "c": Programs(
        '#include <stdio.h>\nint main() { printf("6\\n"); }', _C_EXITS, "int main() { return x; }"
    ),
    "cpp": Programs(
        "#include <iostream>\nint main() { std::cout << 6; }",
        _C_EXITS,
        "int main() { std::cout << 1; }",
    ),
    "java": Programs(
        "class A { public static void main(String[] a) { System.out.println(6); } }",
        "class A { public static void main(String[] a) { System.exit(3); } }",
        "public class A { int x = ; }",
    ),
    "javascript": Programs("console.log(6)", "process.exit(3)", "const = 5;"),
    "typescript": Programs("console.log(6 as number)", "process.exit(3)", "const x: = 5;"),
    "go": Programs(
        'package main\nimport "fmt"\nfunc main() { fmt.Println(6) }',
        'package main\nimport "os"\nfunc main() { os.Exit(3) }',
        "package main\nfunc main() { x := 1 }",
    ),
    "rust": Programs(
        'fn main() { println!("6"); }',
        "fn main() { std::process::exit(3); }",
        'fn main() { let x: i32 = "a"; }',
    ),
    "csharp": Programs(
        "class P { static void Main() { System.Console.WriteLine(6); } }",
        "class P { static int Main() { return 3; } }",
        "class P { static void Main() { int x = ; } }",
    ),
    "kotlin": Programs(
        "fun main() { println(6) }",
        "fun main() { kotlin.system.exitProcess(3) }",
        "fun main() { val x: Int = true }",
    ),
    "scala": Programs(
        "object Main extends App { println(6) }",
        "object Main extends App { sys.exit(3) }",
        "object Main extends App { val x: Int = true }",
    ),
    "ruby": Programs("puts 6", "exit 3", "def f("),
    "php": Programs("<?php echo 6;", "<?php exit(3);", "<?php echo ;;("),
    "perl": Programs("print 6;", "exit 3;", "my $x = ;"),
    "lua": Programs("print(6)", "os.exit(3)", "x = = 1"),
    "bash": Programs("echo 6", "exit 3", "if true; then"),
    "sql": Programs("SELECT 6;", ".exit 3"),
    "r": Programs("cat(6)", "quit(status = 3)", "x <- ("),
    "octave": Programs("disp(6)", "exit(3)"),
    "haskell": Programs(
        "main = print 6", "import System.Exit\nmain = exitWith (ExitFailure 3)", "main = print x"
    ),
    "ocaml": Programs("let () = print_int 6", "let () = exit 3", "let () = print_int x"),
    "racket": Programs(
        "#lang racket\n(displayln 6)", "#lang racket\n(exit 3)", "#lang racket\n(displayln x"
    ),
    "d": Programs(
        "import std.stdio; void main() { writeln(6); }", "int main() { return 3; }", "int main() {"
    ),
    "pascal": Programs("begin writeln(6); end.", "begin halt(3); end.", "begin writeln(x); end."),
    "fortran": Programs("print *, 6\nend", "stop 3\nend", "prin *, 6\nend"),
    "verilog": Programs(
        'module m; initial begin $display("6"); $finish; end endmodule',
        "module m; initial $finish_and_return(3); endmodule",
        "module m; initial begin x = 1; end endmodule",
    ),
}
