"""Kotlin."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "fun main() { println(6) }",
    Kind.COMPILE_ERROR: "fun main() { val x: Int = true }",
    Kind.EXIT_CODE: "fun main() { kotlin.system.exitProcess(3) }",
    Kind.CPU: "fun main() { while (true) {} }",
    Kind.SLEEP: "fun main() { Thread.sleep(60_000) }",
    Kind.MEMORY: """
fun main() {
    val kept = ArrayList<IntArray>()
    while (true) kept.add(IntArray(1 shl 20))
}
""",
    Kind.FLOOD: 'fun main() { val line = "x".repeat(1000); while (true) println(line) }',
    Kind.BIG_STDIN: """
fun main() {
    val all = System.`in`.bufferedReader().readText()
    println("${all.count { it == '\\n' }} ${all.count { it == 'x' }}")
}
""",
    Kind.UNICODE: 'fun main() { println("→" + readLine() + "✓") }',
    Kind.THREADS: """
import java.util.concurrent.atomic.AtomicInteger
import kotlin.concurrent.thread
fun main() {
    val done = AtomicInteger()
    val threads = List(4) {
        thread { if ((1..1000).sum() == 500500) done.incrementAndGet() }
    }
    threads.forEach { it.join() }
    println(done)
}
""",
    Kind.RECURSION: """
fun depth(n: Int): Int = if (n == 0) 0 else 1 + depth(n - 1)
fun main() { println(depth(20000)) }
""",
    Kind.ENDLESS_RECURSION: """
fun f(n: Int): Int = 1 + f(n + 1)
fun main() { println(f(0)) }
""",
    Kind.FORBIDDEN: """
import java.io.File
import java.io.IOException
fun main() {
    var held = ""
    for (path in listOf("/etc/shadow", "/proc/1/environ")) {
        try { held += File(path).readText() } catch (refused: IOException) {}
    }
    println(if (held == "") "refused" else held)
}
""",
}
