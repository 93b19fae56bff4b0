"""Recipes: names, file names, and for each toolchain that is there a program that really runs."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from verifier.errors import RequestError
from verifier.extraction import extract
from verifier.languages import RECIPES, get, resolve, written_as
from verifier.languages.registry import names_of
from verifier.languages.source import problem, tidied
from verifier.types import Harness, Killer, Limits, RunFacts

# File names follow a source's content.
FREE_NAMES = ("java",)

ALIASES = {
    "python": "python Python py PY py3 python3 Python3 python3.11 PYTHON3 python-3.12",
    "cpp": "cpp c++ C++ cc cxx c++20 cpp2a g++ hpp",
    "cpp17": "cpp17 c++17 C++17 gnu++17 c++1z",
    "cpp23": "cpp23 C++23 c++2b",
    "c": "c C c11 c99 h gcc",
    "java": "java Java java17 JAVA openjdk",
    "javascript": "javascript JavaScript js JS node nodejs Node.js mjs",
}


@pytest.mark.parametrize("name", ALIASES)
def test_aliases(name: str) -> None:
    for alias in ALIASES[name].split():
        assert resolve(alias) == name
        assert get(alias) is RECIPES[name]
    assert RECIPES[name].name == name


def test_blanks_do_not_matter() -> None:
    assert resolve("Python 3") == "python"
    assert resolve(" C++ 17\n") == "cpp17"


def test_no_alias_means_two_languages() -> None:
    names_of(RECIPES.values())  # raises
    one, other = RECIPES["c"], dataclasses.replace(RECIPES["java"], aliases=("jdk", "gcc"))
    with pytest.raises(ValueError, match="'gcc' is of c and of java"):
        names_of([one, other])
    with pytest.raises(ValueError, match="'C' has blanks or capitals"):
        names_of([dataclasses.replace(one, aliases=("C",))])
    fusion = [name for recipe in RECIPES.values() for name in recipe.sandbox_fusion]
    assert len(fusion) == len(set(fusion))


@pytest.mark.parametrize("name", ["", "cobol85", "pythonic", "text", "\0", "x" * 10_000])
def test_unknown(name: str) -> None:
    assert resolve(name) is None
    with pytest.raises(RequestError) as caught:
        get(name)
    assert caught.value.field == "language"
    assert len(str(caught.value)) < 200


def test_unknown_names_the_nearest() -> None:
    with pytest.raises(RequestError, match="did you mean python"):
        get("pyhton")
    with pytest.raises(RequestError, match="did you mean javascript"):
        get("javscript")


def test_recipes_are_consistent() -> None:
    for recipe in RECIPES.values():
        assert recipe.run_argv
        assert recipe.version_argv
        assert bool(recipe.compile_argv) is bool(recipe.outputs)
        assert (recipe.run_harness is Harness.PYTHON) is (recipe.name == "python")
        assert bool(recipe.packages) is not bool(recipe.unpackaged)
        assert recipe.remedy


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("public class SumTool { }", "SumTool.java"),
        ("import java.util.*;\npublic final class A {}", "A.java"),
        ("public abstract class A {}", "A.java"),
        ("public enum E { X }", "E.java"),
        ("public record R(int x) {}", "R.java"),
        ("public interface I {}", "I.java"),
        ("class Main { public static void main(String[] a) {} }", "Main.java"),
        ("class A { public static class B {} }\npublic class C {}", "C.java"),
        ("class A { public class B {} }\npublic class C {}", "C.java"),
        ("// public class No\n/* public class No */\npublic class Yes {}", "Yes.java"),
        (
            "class A { String s = \"public class No {\"; char c = '{'; }\npublic class Yes {}",
            "Yes.java",
        ),
        ('class A { String s = """\npublic class No {\n"""; }\npublic class Yes {}', "Yes.java"),
        ("public\nclass\nLines {}", "Lines.java"),
        ("public class $x_1 {}", "$x_1.java"),
        ("", "Main.java"),
        ("public class ../../etc {}", "Main.java"),
        ("/* public class A {}", "Main.java"),
    ],
)
def test_java_file_name(source: str, name: str) -> None:
    assert RECIPES["java"].file_name(source.encode()) == name


def test_java_file_name_of_hostile_sources() -> None:
    java = RECIPES["java"]
    for piece in (
        b'"',
        b"'",
        b"/*",
        b"*/",
        b"//",
        b'"""',
        b"\\",
        b"public ",
        b"public class ",
        b"{",
        b"\xff",
    ):
        assert java.file_name(piece * (300_000 // len(piece))).endswith(".java")


def test_other_file_names_are_fixed() -> None:
    for recipe in RECIPES.values():
        if recipe.name not in FREE_NAMES:
            assert recipe.file_name(b"public class X {}") == recipe.source_name


def test_heap_follows_the_memory_limit() -> None:
    java, limits = RECIPES["java"], Limits(memory_bytes=1024 * 1024 * 1024)
    assert "-Xmx768m" in java.run_command(limits)
    assert "-Xmx8m" in java.run_command(Limits(memory_bytes=1))
    small = dataclasses.replace(java, env=(("HEAP", "{heap_mb}MiB"),), heap_share=0.5)
    assert small.run_env(limits) == (("HEAP", "512MiB"),)


def test_a_full_heap_is_the_memory_limit() -> None:
    java, mark = RECIPES["java"], b"java.lang.OutOfMemoryError: Java heap space"
    assert java.told(RunFacts(exit_code=1, stderr=mark)).killer is Killer.MEMORY
    for facts in (
        RunFacts(exit_code=0, stderr=mark),  # it was caught
        RunFacts(exit_code=1, stderr=b"java.lang.StackOverflowError"),
        RunFacts(exit_code=1, stderr=b"java.lang.OutOfMemoryError: unable to create native thread"),
        RunFacts(signal=9, killer=Killer.CPU, stderr=mark),
    ):
        assert java.told(facts) is facts
    assert RECIPES["c"].told(RunFacts(exit_code=1, stderr=mark)).killer is Killer.NONE


@pytest.mark.parametrize(
    ("language", "stderr", "killer"),
    [
        ("python", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate", Killer.MEMORY),
        ("cpp", "terminate called after throwing an instance of 'std::length_error'", Killer.NONE),
        ("javascript", "RangeError: Array buffer allocation failed", Killer.MEMORY),
        ("javascript", "RangeError: Invalid array length", Killer.NONE),
        ("java", "java.lang.OutOfMemoryError: unable to create native thread", Killer.NONE),
        ("kotlin", "java.lang.OutOfMemoryError: Cannot reserve 1048576 bytes", Killer.MEMORY),
    ],
)
def test_what_a_runtime_says_of_memory(language: str, stderr: str, killer: Killer) -> None:
    told = RECIPES[language].told(RunFacts(exit_code=1, stderr=stderr.encode()))
    assert told.killer is killer


def test_sources_are_tidied() -> None:
    assert tidied(b"\xef\xbb\xbfa\r\nb\rc\r\n") == b"a\nb\rc\n"
    assert problem(b"print(1)\n") == ""
    assert problem(b"a\nb\0") == "error: line 2: the source holds a NUL byte"


def test_other_compilers_of_a_language() -> None:
    assert written_as("C++17") == "cpp"
    assert written_as("java") == "java"
    assert written_as("cobol85") is None
    assert "-std=gnu++17" in get("c++17").compile_argv
    assert "-std=gnu++23" in get("C++ 23").compile_argv
    assert "-std=gnu++20" in get("c++").compile_argv
    for recipe in RECIPES.values():
        assert recipe.written_as in {"", *RECIPES} - {recipe.name}


def compiled(name: str, source: str, home: Path) -> subprocess.CompletedProcess[bytes]:
    """Compile outside of any jail: our own sources, in a folder of the test."""
    recipe = RECIPES[name]
    tool = recipe.version_argv[0]
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool} here")
    (home / recipe.file_name(source.encode())).write_text(source)
    if not recipe.compile_argv:
        return subprocess.CompletedProcess([], 0, b"", b"")
    return subprocess.run(recipe.compile_argv, cwd=home, capture_output=True, check=False)


def test_java_without_main(tmp_path: Path) -> None:
    done = compiled("java", "class A { void main(String[] a) {} }", tmp_path)
    assert done.returncode == 1
    assert b"no class has a method public static void main" in done.stderr


def test_java_prefers_the_public_class(tmp_path: Path) -> None:
    main = "{ public static void main(String[] a) {} }"
    mains = f"class A {main}\npublic class Z {main}"
    assert compiled("java", mains, tmp_path).returncode == 0
    with zipfile.ZipFile(tmp_path / "main.jar") as jar:
        assert b"Main-Class: Z\r\n" in jar.read("META-INF/MANIFEST.MF")


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("go", "package main\nfunc main() {}"),
        ("rust", "fn main() {}"),
        ("bash", "read a b\necho $a"),
        ("pypy", "import sys\nprint(1)"),
        ("cpp17", "#include <x>\nint main() {}"),
        ("typescript", "const a = 1;\nconsole.log(a)"),
        ("sql", "SELECT 1;"),
    ],
)
def test_an_untagged_program_is_told_from_its_output(language: str, source: str) -> None:
    found = extract(f"Here:\n```\n{source}\n```\nOutput:\n```\n5\n```\n", language=language)
    assert found.program is not None
    assert (found.program.language, found.program.source) == (language, f"{source}\n".encode())


def test_a_tag_chooses_a_language_and_no_compiler() -> None:
    def language_of(response: str, wanted: str | None = None) -> str | None:
        program = extract(response, language=wanted).program
        return program and program.language

    assert language_of("```go\npackage main\n```") == "go"
    assert language_of("```pypy3\nprint(1)\n```") == "python"
    assert language_of("```c++17\nint main() {}\n```", "cpp") == "cpp"
    assert language_of("```python\nprint(1)\n```", "pypy") == "pypy"
    # How to run it is not the program.
    answer = "```python\nprint(1)\n```\nRun it:\n```bash\npython x.py\n```"
    assert language_of(answer) == "python"
    assert language_of(answer, "bash") == "bash"
