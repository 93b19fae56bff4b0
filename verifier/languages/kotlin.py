"""Kotlin on the JVM: programs, and scripts. The compiler takes 6 s of CPU for one line.

A script becomes a class whose constructor runs it. The interpreter of scripts compiles at each run;
here that is done once, beside a main function that makes an object of the class.
"""

from __future__ import annotations

import dataclasses

from verifier.languages import jar
from verifier.languages.base import BIG_COMPILE_LIMITS, Recipe
from verifier.types import Harness

_LIB = "/usr/share/kotlin/kotlinc/lib"

_STDLIB = (
    f"file:{_LIB}/kotlin-stdlib.jar file:{_LIB}/kotlin-stdlib-jdk8.jar "
    f"file:{_LIB}/kotlin-stdlib-jdk7.jar"
)
# What `kotlinc` calls, without its heap of 256 MB and its warning about -noverify.
_COMPILER = (
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
)
_RUN_SCRIPT = """\
import java.lang.reflect.InvocationTargetException

fun main(args: Array<String>) {
    try {
        Class.forName("Main").getConstructor(Array<String>::class.java).newInstance(args)
    } catch (e: InvocationTargetException) {
        throw e.targetException
    }
}
"""

KOTLIN = Recipe(
    name="kotlin",
    title="Kotlin",
    aliases=("kt", "kotlinc", "kotlin1.3"),
    family="jvm-more",
    packages=("kotlin", "default-jdk-headless"),
    source_name="main.kt",
    run_harness=Harness.EXEC,
    compile_argv=jar.compile_argv("*.kt", _STDLIB, *_COMPILER),
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

KOTLIN_SCRIPT = dataclasses.replace(
    KOTLIN,
    name="kotlin_script",
    title="Kotlin, scripts",
    aliases=("kts", "kotlinscript"),
    written_as="kotlin",
    sandbox_fusion=("kotlin_script",),
    source_name="main.kts",
    compile_argv=(
        "sh",
        "-c",
        f'cat >run.kt <<"END"\n{_RUN_SCRIPT}END\nexec "$0" "$@"',
        *jar.compile_argv(
            "*.kt*",
            f"{_STDLIB} file:{_LIB}/kotlin-script-runtime.jar",
            *_COMPILER,
        ),
    ),
    self_test='val (a, b) = readLine()!!.split(" ").map { it.toInt() }\nprintln(a + b)\n',
    notes="Statements at the top level; a `main` is not called. Memory and stack as Java's.",
)
