"""Haskell by GHC."""

from __future__ import annotations

from verifier.languages.base import BIG_COMPILE_LIMITS, Library, Recipe
from verifier.types import Harness

HASKELL = Recipe(
    name="haskell",
    title="Haskell",
    aliases=("hs", "ghc", "runhaskell"),
    family="functional",
    packages=("ghc",),
    libraries=tuple(
        Library(
            *(name, f"libghc-{name}-dev", f"/var/lib/ghc/package.conf.d/{name}-[0-9]*.conf"),
            rf"/{name}-([\d.]+)\.conf",
        )
        for name in ("vector", "unordered-containers", "split", "random")
    ),
    source_name="main.hs",
    run_harness=Harness.EXEC,
    compile_argv=(
        "ghc",
        "-v0",
        "-O2",
        "-rtsopts",
        "-fdiagnostics-color=never",
        "-o",
        "main",
        "main.hs",
    ),
    outputs=("main",),
    # Else it copies all that is alive, which takes twice the memory; near this it compacts.
    run_argv=("/program/main", "+RTS", "-M{heap_mb}m", "-RTS"),
    heap_share=0.9,
    version_argv=("ghc", "--version"),
    compile_limits=BIG_COMPILE_LIMITS,
    extra_processes=8,
    self_test="main :: IO ()\n"
    "main = getLine >>= print . sum . map (read :: String -> Int) . words\n",
    memory_marks=(b"Heap exhausted",),
    stack_overflow="time limit, or memory limit",
    notes=(
        "The libraries that come with GHC (base, containers, bytestring, text, mtl, array), and in "
        "the images vector, unordered-containers, split and random."
    ),
)
