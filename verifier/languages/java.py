"""Java: the file is named after its public class, and the compile step makes one runnable jar."""

from __future__ import annotations

import dataclasses
import re

from verifier.languages import jar
from verifier.languages.base import BIG_COMPILE_LIMITS, Library, Recipe
from verifier.languages.calls.java import java_calls
from verifier.types import Harness

# Comments, strings and character literals: none of them can declare a class. Possessive in effect:
# each alternative is decided by its first characters, so matching is linear.
_NOT_CODE = re.compile(
    rb'/\*(?:[^*]|\*(?!/))*(?:\*/)?|//[^\n]*|"""(?:[^"\\]|\\.|"(?!""))*(?:""")?|"(?:[^"\\\n]|\\.)*"?|'
    rb"'(?:[^'\\\n]|\\.)*'?",
    re.DOTALL,
)
_PUBLIC_TYPE = re.compile(
    rb"\bpublic\s+(?:(?:abstract|final|sealed|non-sealed|strictfp)\s+)*"
    rb"(?:class|interface|enum|record|@interface)\s+([A-Za-z_$][A-Za-z0-9_$]{0,200})"
)
_HEAD_BYTES = 1 << 20


class _JavaRecipe(Recipe):
    """A recipe whose source name follows the public class."""

    __slots__ = ()

    def file_name(self, source: bytes) -> str:
        """`<public top-level class>.java`, or `Main.java` where none is public."""
        code = _NOT_CODE.sub(b" ", source[:_HEAD_BYTES])
        depth = seen = 0
        for match in _PUBLIC_TYPE.finditer(code):
            depth += code.count(b"{", seen, match.start()) - code.count(b"}", seen, match.start())
            seen = match.start()
            if depth == 0:
                return f"{match[1].decode()}.java"
        return self.source_name


JAVA = _JavaRecipe(
    name="java",
    title="Java",
    family="jvm",
    packages=("default-jdk-headless",),
    libraries=(
        *(Library("junit4", "junit4", "/usr/share/java/junit4-*.jar", r"junit4-([\d.]+)\.jar"),),
        Library(
            *("junit5", "junit5", "/usr/share/java/junit-jupiter-api-*.jar"),
            r"-api-([\d.]+)\.jar",
        ),
    ),
    sandbox_fusion=("java",),
    aliases=(
        "java8",
        "java11",
        "java17",
        "java21",
        "java22",
        "java23",
        "java24",
        "java25",
        "openjdk",
        "jdk",
        "javac",
    ),
    source_name="Main.java",
    run_harness=Harness.EXEC,
    compile_argv=jar.compile_argv(
        "*.java",
        "",
        "javac",
        *(f"-J{flag}" for flag in jar.QUICK_JVM),
        "-Xmaxerrs",
        "10",
        "-encoding",
        "UTF-8",
        "-nowarn",
        archive="javac.jsa",
    ),
    outputs=jar.OUTPUTS,
    run_argv=jar.RUN_ARGV,
    needs=("javac",),
    version_argv=("java", "-version"),
    self_test="import java.util.*;\npublic class Sum { public static void main(String[] args) {\n"
    "  Scanner s = new Scanner(System.in); System.out.println(s.nextInt() + s.nextInt()); } }\n",
    memory_marks=jar.HEAP_MARKS,
    stack_overflow=jar.STACK_OVERFLOW,
    notes=(
        "The file is named after its public class; a public class with a `main` is run first. "
        "Heap of 3/4 of the memory limit, serial collector, 64 MB of stack."
    ),
    compile_limits=dataclasses.replace(BIG_COMPILE_LIMITS, cpu_time_s=30.0, wall_time_s=60.0),
    extra_processes=jar.THREADS,
    calls=java_calls(jar.RUN_ARGV),
)
