"""C++ by g++, as contests compile it: C++20 with the GNU extensions (gcc 10 and later know it).

A request that names another standard gets that one; a fence's tag does not choose it.
"""

from __future__ import annotations

import dataclasses

from verifier.languages.base import Library, Recipe
from verifier.languages.c import GMP, GMP_INCLUDED
from verifier.languages.calls.cpp import CPP_CALLS
from verifier.types import Harness

# Where a sandbox may lay precompiled headers (`sandbox.namespaces.headers`); a folder that is not
# there is no matter to g++. Of images the header is below /usr/include itself.
PRECOMPILED = "/precompiled"


def _spellings(*years: str) -> list[str]:
    return [f"{stem}{year}" for year in years for stem in ("c++", "cpp", "gnu++", "g++")]


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
        *_spellings("20", "2a"),
    ),
    title="C++",
    family="native",
    packages=("g++", "libc6-dev"),
    libraries=(
        Library(
            *("boost", "libboost-dev", "/usr/include/boost/version.hpp"),
            r'#define BOOST_LIB_VERSION "(\d+)_(\d+)',
        ),
        GMP,
    ),
    linked=((GMP_INCLUDED, ("-lgmpxx", "-lgmp")),),
    sandbox_fusion=("cpp",),
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
    memory_marks=(b"instance of 'std::bad_alloc'",),
    version_argv=("g++", "--version"),
    self_test="#include <iostream>\n"
    "int main() { long a, b; std::cin >> a >> b; std::cout << a + b << '\\n'; }\n",
    calls=CPP_CALLS,
    notes="`-O2 -std=gnu++20`; the other standards by name. `bits/stdc++.h` is precompiled. What "
    "includes GMP's headers is linked with it.",
)


def _standard(year: str, draft: str) -> Recipe:
    name = f"cpp{year}"
    return dataclasses.replace(
        CPP,
        name=name,
        title=f"C++{year}",
        aliases=tuple(s for s in _spellings(year, draft) if s != name),
        written_as=CPP.name,
        sandbox_fusion=(),
        compile_argv=tuple(
            f"-std=gnu++{year}" if word.startswith("-std=") else word for word in CPP.compile_argv
        ),
        notes=f"`-std=gnu++{year}`; without a precompiled header.",
    )


CPP_STANDARDS = tuple(
    _standard(year, draft)
    for year, draft in (("11", "0x"), ("14", "1y"), ("17", "1z"), ("23", "2b"))
)
