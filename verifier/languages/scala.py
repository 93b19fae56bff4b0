"""Scala on the JVM. The compiler takes 5 s of CPU for a program of one line."""

from __future__ import annotations

from verifier.languages import jar
from verifier.languages.base import BIG_COMPILE_LIMITS, Recipe
from verifier.types import Harness

_LIB = "/usr/share/java"

SCALA = Recipe(
    name="scala",
    title="Scala",
    aliases=("scalac", "scala2", "scala2.11", "sc"),
    family="jvm-more",
    packages=("scala", "default-jdk-headless"),
    sandbox_fusion=("scala",),
    source_name="main.scala",
    run_harness=Harness.EXEC,
    compile_argv=jar.compile_argv(
        "*.scala",
        f"file:{_LIB}/scala-library.jar file:{_LIB}/scala-reflect.jar "
        f"file:{_LIB}/scala-parser-combinators.jar",
        # What `scalac` calls; that script asks the terminal for its settings first.
        "java",
        "-Xmx1g",
        "-Xss16m",
        *jar.QUICK_JVM,
        "-Dscala.usejavacp=true",
        "-cp",
        f"{_LIB}/scala-library.jar:{_LIB}/scala-reflect.jar:{_LIB}/scala-compiler.jar",
        "scala.tools.nsc.Main",
        "-usejavacp",
        "-nowarn",
        archive="scalac.jsa",
    ),
    outputs=jar.OUTPUTS,
    run_argv=jar.RUN_ARGV,
    needs=("scalac", "java"),
    # `scalac -version` is a start of the JVM and of the compiler.
    version_argv=("readlink", f"{_LIB}/scala-compiler.jar"),
    compile_limits=BIG_COMPILE_LIMITS,
    extra_processes=jar.THREADS,
    self_test="object Main {\n  def main(args: Array[String]): Unit = {\n"
    '    println(scala.io.StdIn.readLine().split(" ").map(_.toInt).sum)\n  }\n}\n',
    memory_marks=jar.HEAP_MARKS,
    stack_overflow=jar.STACK_OVERFLOW,
    notes=("An object with a `main`, or one that extends `App`. Memory and stack as Java's."),
)
