"""Ruby."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "puts 6",
    Kind.COMPILE_ERROR: "def f(",
    Kind.EXIT_CODE: "exit 3",
    Kind.CPU: "loop {}",
    Kind.SLEEP: "sleep 60",
    Kind.MEMORY: "kept = []\nloop { kept << 'x' * (1 << 22) }",
    Kind.FLOOD: "loop { puts 'x' * 1000 }",
    Kind.BIG_STDIN: 'all = $stdin.read\nputs "#{all.count("\\n")} #{all.count("x")}"',
    Kind.UNICODE: 'puts "→#{gets.chomp}✓"',
    Kind.THREADS: """
threads = 4.times.map { Thread.new { (1..1000).sum } }
puts threads.map(&:value).length
""",
    Kind.RECURSION: """
def depth(n)
  n == 0 ? 0 : 1 + depth(n - 1)
end
puts depth(20_000)
""",
    Kind.ENDLESS_RECURSION: "def f(n) = 1 + f(n + 1)\nputs f(0)",
    Kind.FORBIDDEN: """
held = ["/etc/shadow", "/proc/1/environ"].map do |path|
  File.read(path)
rescue SystemCallError
  ""
end.join
puts held.empty? ? "refused" : held
""",
}
