"""What goes into an image, as a value with a digest.

The digest is a label of the image: an image whose label is the digest of what would be built now is
not built again. It covers the package names, the finishing script, the Dockerfile and the compiler
flags of the precompiled header, but not the versions that the package archive serves today
(`--force` takes those).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

LABEL_RECIPE = "sandbox-verifier.recipe"
LABEL_FAMILIES = "sandbox-verifier.families"
LABEL_ORIGIN = "sandbox-verifier.origin"
LABEL_SBOM = "sandbox-verifier.sbom"

USER = "65532:65532"

# A family is the toolchains that share a runtime, or that are small together, with the libraries
# that data sets' programs use. Python is in every image: the runner needs it. What is large and
# used by few has a family of its own; docs/images.md has what each weighs.
# A test compares this with the recipes in `verifier/languages`.
FAMILIES: dict[str, tuple[str, ...]] = {
    "python": (
        *("python3", "python3-numpy", "python3-sympy", "python3-networkx"),
        *("python3-sortedcontainers", "python3-pytest"),
    ),
    "python-science": ("python3-scipy", "python3-pandas"),
    "native": ("gcc", "g++", "libc6-dev", "libgmp-dev"),
    "native-libraries": ("libboost-dev",),
    "jvm": ("default-jdk-headless", "junit4", "junit5"),
    "web": ("nodejs", "node-typescript", "node-lodash"),
    "web-testing": ("jest",),
    "go": ("golang-go",),
    "rust": ("rustc",),
    "mono": ("mono-mcs", "mono-runtime"),
    "scripts": (
        *("perl", "ruby", "php-cli", "php-gmp", "php-mbstring", "lua5.4", "sqlite3", "pypy3"),
    ),
    "native-more": ("gfortran", "fp-compiler", "ldc"),
    "jvm-more": ("default-jdk-headless", "kotlin", "scala"),
    "functional": (
        *("ghc", "libghc-vector-dev", "libghc-unordered-containers-dev", "libghc-split-dev"),
        *("libghc-random-dev", "ocaml-nox", "racket"),
    ),
    "science": ("r-base-core", "octave"),
    "hardware": ("iverilog",),
}
DEFAULT_FAMILIES = ("python", "native")
FULL_FAMILIES = (
    *("python", "python-science", "native", "native-libraries", "jvm", "web", "go", "rust"),
)
# What people call them.
ALIASES: dict[str, str] = {
    "java": "jvm",
    "node": "web",
    "nodejs": "web",
    "javascript": "web",
    "js": "web",
    "c": "native",
    "c++": "native",
    "cpp": "native",
    "py": "python",
    "typescript": "web",
    "scipy": "python-science",
    "pandas": "python-science",
    "boost": "native-libraries",
    "jest": "web-testing",
    "golang": "go",
    "csharp": "mono",
    "kotlin": "jvm-more",
    "scala": "jvm-more",
    "haskell": "functional",
    "ocaml": "functional",
    "racket": "functional",
    "r": "science",
    "octave": "science",
    "verilog": "hardware",
}


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """Everything that decides what an image holds.

    Attributes:
        families: Sorted names of `FAMILIES`; always has "python".
        origin: "bootstrap:SUITE", or "base:IMAGE" ("base:" for the Dockerfile's pinned default).
        header_flags: g++ flags that `bits/stdc++.h` is precompiled for; empty for no precompiled
            header.
    """

    families: tuple[str, ...]
    origin: str
    header_flags: tuple[str, ...] = ()

    @property
    def packages(self) -> tuple[str, ...]:
        """Debian packages, in the order of the families."""
        return tuple(dict.fromkeys(p for family in self.families for p in FAMILIES[family]))

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the content that this recipe stands for."""
        content = {
            "packages": self.packages,
            "origin": self.origin,
            "header_flags": self.header_flags,
            "files": [(HERE / name).read_text() for name in ("finish.sh", "Dockerfile")],
            "environment": environment(),
            "user": USER,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the image."""
        return {
            LABEL_RECIPE: self.digest,
            LABEL_FAMILIES: ",".join(self.families),
            LABEL_ORIGIN: self.origin,
        }


def environment() -> dict[str, str]:
    """The image's environment, for a person in a shell: a run gets an explicit one of its own."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


def resolve_families(names: list[str]) -> tuple[str, ...]:
    """Canonical family names, sorted, without duplicates, with Python.

    Args:
        names: Family names or aliases, each possibly a comma-separated list.

    Raises:
        ValueError: A name is unknown; the message lists those that are known.
    """
    found = {"python"}
    for name in (part.strip().lower() for item in names for part in item.split(",")):
        family = ALIASES.get(name, name)
        if family not in FAMILIES:
            known = ", ".join([*FAMILIES, *ALIASES])
            message = f"unknown family {name!r}; known: {known}"
            raise ValueError(message)
        found.add(family)
    return tuple(family for family in FAMILIES if family in found)


def header_flags(compile_argv: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of a g++ command that a precompiled header must have been made with.

    A header is used only when the flags agree, so it takes all of them but those that name files,
    folders or libraries.
    """
    flags: list[str] = []
    skip = False
    for word in compile_argv[1:]:
        if skip:
            skip = False
        elif word in {"-o", "-x", "-include"}:
            skip = True
        elif (
            word.startswith("-")
            and word != "-"
            and not word.startswith(("-I", "-l", "-L", "-Wl,", "-static"))
        ):
            flags.append(word)
    return tuple(flags)
