"""Scala."""

from tests.languages.cells.base import Cells, Kind


def _main(body: str) -> str:
    return f"object Main {{\n  def main(args: Array[String]): Unit = {{{body}}}\n}}"


CELLS: Cells = {
    Kind.WRONG_ANSWER: "object Main extends App { println(6) }",
    Kind.COMPILE_ERROR: "object Main extends App { val x: Int = true }",
    Kind.EXIT_CODE: _main("sys.exit(3)"),
    Kind.CPU: _main("while (true) {}"),
    Kind.SLEEP: _main("Thread.sleep(60000)"),
    Kind.MEMORY: _main("""
    val kept = new java.util.ArrayList[Array[Int]]
    while (true) kept.add(new Array[Int](1 << 20))
"""),
    Kind.FLOOD: _main('val line = "x" * 1000; while (true) println(line)'),
    Kind.BIG_STDIN: _main("""
    val all = scala.io.Source.stdin.mkString
    println(all.count(_ == '\\n') + " " + all.count(_ == 'x'))
"""),
    Kind.UNICODE: _main('println("→" + scala.io.StdIn.readLine() + "✓")'),
    Kind.THREADS: _main("""
    val done = new java.util.concurrent.atomic.AtomicInteger
    val threads = (1 to 4).map(_ => new Thread {
      override def run(): Unit = if ((1 to 1000).sum == 500500) done.incrementAndGet()
    })
    threads.foreach(_.start())
    threads.foreach(_.join())
    println(done)
"""),
    Kind.RECURSION: _main("""
    def depth(n: Int): Int = if (n == 0) 0 else 1 + depth(n - 1)
    println(depth(20000))
"""),
    Kind.ENDLESS_RECURSION: _main("""
    def f(n: Int): Int = 1 + f(n + 1)
    println(f(0))
"""),
    Kind.FORBIDDEN: _main("""
    var held = ""
    for (path <- List("/etc/shadow", "/proc/1/environ"))
      try held += scala.io.Source.fromFile(path).mkString
      catch { case _: java.io.IOException => }
    println(if (held == "") "refused" else held)
"""),
}
