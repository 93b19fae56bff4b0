"""Recipes: names, file names, and for each toolchain that is there a program that really runs."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from verifier.errors import RequestError
from verifier.languages import RECIPES, get, resolve
from verifier.types import Harness

ALIASES = {
    "python": "python Python py PY py3 python3 Python3 python3.11 pypy3 PYTHON3 python-3.12",
    "cpp": "cpp c++ C++ cc cxx cpp17 c++20 gnu++17 g++ hpp C++14",
    "c": "c C c11 c99 h gcc",
    "java": "java Java java17 JAVA openjdk",
    "javascript": "javascript JavaScript js JS node nodejs Node.js mjs",
}


@pytest.mark.parametrize("name", RECIPES)
def test_aliases(name: str) -> None:
    for alias in ALIASES[name].split():
        assert resolve(alias) == name
        assert get(alias) is RECIPES[name]
    assert RECIPES[name].name == name


def test_blanks_do_not_matter() -> None:
    assert resolve("Python 3") == "python"
    assert resolve(" C++ 17\n") == "cpp"


def test_no_alias_means_two_languages() -> None:
    spellings = [s for r in RECIPES.values() for s in (r.name, *r.aliases)]
    assert len(spellings) == len(set(spellings))
    assert all(s == s.lower() and " " not in s for s in spellings)


@pytest.mark.parametrize("name", ["", "rust", "pythonic", "c#", "text", "\0", "x" * 10_000])
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
        if recipe.name != "java":
            assert recipe.file_name(b"public class X {}") == recipe.source_name


SUMS = {
    "python": "a, b = map(int, input().split())\nprint(a + b)\n",
    "c": "#include <stdio.h>\n#include <math.h>\n"
    'int main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }\n',
    "cpp": "#include <iostream>\n#include <ranges>\n"
    "int main() { long a, b; std::cin >> a >> b; std::cout << a + b; }\n",
    "java": "package deep.down;\nimport java.util.*;\n"
    "class Helper { static void main(String a, int b) {} }\n"
    "public class SumTool { static class In {}\n  public static void main(String[] args) {\n"
    "    Scanner s = new Scanner(System.in); System.out.println(s.nextInt() + s.nextInt()); } }\n",
    "javascript": "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\n"
    "console.log(a + b);\n",
}  # fmt: skip
BROKEN = {
    "c": "int main() { return x; }",
    "cpp": "int main() { std::cout << 1; }",
    "java": "public class A { int x = ; }",
    "javascript": "const = 5;",
}


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


@pytest.mark.parametrize("name", SUMS)
def test_compiles_and_runs(name: str, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    done = compiled(name, SUMS[name], tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    for pattern in recipe.outputs:
        assert list(tmp_path.glob(pattern))
    argv = [part.replace("/program", str(tmp_path)) for part in recipe.run_argv]
    run = subprocess.run(argv, input=b"2 3", capture_output=True, check=True)
    assert run.stdout.split() == [b"5"]


@pytest.mark.parametrize("name", BROKEN)
def test_compile_errors(name: str, tmp_path: Path) -> None:
    done = compiled(name, BROKEN[name], tmp_path)
    assert done.returncode != 0
    assert b"rror" in done.stderr


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
