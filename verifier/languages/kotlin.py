"""Kotlin on the JVM. The compiler takes 6 s of CPU for a program of one line."""

from __future__ import annotations

from verifier.languages import jar
from verifier.languages.base import BIG_COMPILE_LIMITS, Recipe
from verifier.types import Harness

_LIB = "/usr/share/kotlin/kotlinc/lib"

KOTLIN = Recipe(
    name="kotlin",
    title="Kotlin",
    aliases=("kt", "kotlinc", "kotlin1.3"),
    family="jvm-more",
    packages=("kotlin", "default-jdk-headless"),
    source_name="main.kt",
    run_harness=Harness.EXEC,
    compile_argv=jar.compile_argv(
        "*.kt",
        f"file:{_LIB}/kotlin-stdlib.jar file:{_LIB}/kotlin-stdlib-jdk8.jar "
        f"file:{_LIB}/kotlin-stdlib-jdk7.jar",
        # What `kotlinc` calls, without its heap of 256 MB and its warning about -noverify.
        "java",
        "-Xmx1g",
        "-Xss16m",
        *jar.QUICK_JVM,
        "-cp",
        f"{_LIB}/kotlin-preloader.jar",
        "org.jetbrains.kotlin.preloading.Preloader",
        "-cp",
        f"{_LIB}/kotlin-compiler.jar",
        "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
        "-nowarn",
        "-jvm-target",
        "1.8",
    ),
    outputs=jar.OUTPUTS,
    run_argv=jar.RUN_ARGV,
    needs=("kotlinc", "java"),
    # `kotlinc -version` is a start of the JVM and of the compiler.
    version_argv=("readlink", "/usr/share/java/kotlin-compiler.jar"),
    compile_limits=BIG_COMPILE_LIMITS,
    extra_processes=jar.THREADS,
    self_test="fun main() {\n"
    '    val (a, b) = readLine()!!.split(" ").map { it.toInt() }\n    println(a + b)\n}\n',
    memory_marks=jar.HEAP_MARKS,
    stack_overflow=jar.STACK_OVERFLOW,
    notes=("Memory and stack as Java's."),
)
