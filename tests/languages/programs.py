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
}
