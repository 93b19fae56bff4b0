"""C# by Mono's compiler and runtime."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

CSHARP = Recipe(
    name="csharp",
    title="C#",
    aliases=("c#", "cs", "mono", "mcs", "dotnet", "csharp7"),
    family="mono",
    packages=("mono-mcs", "mono-runtime"),
    sandbox_fusion=("csharp",),
    source_name="main.cs",
    run_harness=Harness.EXEC,
    compile_argv=(
        "mcs",
        "-optimize+",
        "-langversion:latest",
        "-nowarn:0168,0219,0414",
        "-r:System.Numerics",
        "-out:main.exe",
        "main.cs",
    ),
    outputs=("main.exe",),
    # Of a stack of 512 MB, Mono would write the trace of an endless recursion for minutes.
    run_argv=("sh", "-c", 'ulimit -s 65536; exec mono "$0" "$@"', "/program/main.exe"),
    version_argv=("mono", "--version"),
    needs=("mono",),
    # Collector, finalizer and thread pool.
    extra_processes=24,
    self_test="using System;\n\nclass Sum {\n    static void Main() {\n"
    "        var p = Console.ReadLine().Split();\n"
    "        Console.WriteLine(int.Parse(p[0]) + int.Parse(p[1]));\n    }\n}\n",
    memory_marks=(b"System.OutOfMemoryException",),
    stack_overflow="StackOverflowException, exit code 1",
    notes=(
        "C# 7. .NET's own compiler is not in Debian: an image with it takes the recipe once it has "
        "`mcs` and `mono` commands that call it."
    ),
)
