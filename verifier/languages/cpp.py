"""C++ by g++, as contests compile it: C++20 with the GNU extensions (gcc 10 and later know it)."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

# Where a sandbox may lay precompiled headers (`sandbox.namespaces.headers`); a folder that is not
# there is no matter to g++. Of images the header is below /usr/include itself.
PRECOMPILED = "/precompiled"

CPP = Recipe(
    name="cpp",
    aliases=(
        "c++",
        "cc",
        "cxx",
        "hpp",
        "hxx",
        "h++",
        "g++",
        "clang++",
        "cplusplus",
        *(
            f"{stem}{year}"
            for stem in ("c++", "cpp", "gnu++", "g++")
            for year in ("11", "14", "17", "20", "23", "2a")
        ),
    ),
    source_name="main.cpp",
    run_harness=Harness.EXEC,
    compile_argv=(
        "g++",
        "-O2",
        "-std=gnu++20",
        "-pipe",
        "-DONLINE_JUDGE",
        "-fmax-errors=10",
        f"-I{PRECOMPILED}",
        "-o",
        "main",
        "main.cpp",
        "-lm",
    ),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("g++", "--version"),
)
