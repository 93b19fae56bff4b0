"""Perl."""

from tests.languages.cells.base import Cell, Cells, Kind
from verifier.types import Status

CELLS: Cells = {
    Kind.WRONG_ANSWER: "print 6;",
    Kind.COMPILE_ERROR: "my $x = ;",
    Kind.EXIT_CODE: "exit 3;",
    Kind.CPU: "1 while 1;",
    Kind.SLEEP: "sleep 60;",
    Kind.MEMORY: 'my @kept;\npush @kept, "x" x (1 << 22) while 1;',
    Kind.FLOOD: 'print "x" x 1000, "\\n" while 1;',
    Kind.BIG_STDIN: """
use strict; use warnings;
local $/;
my $all = <STDIN>;
my ($lines, $xs) = ($all =~ tr/\\n//, $all =~ tr/x//);
print "$lines $xs\\n";
""",
    Kind.UNICODE: """
use strict; use warnings; use utf8;
use open qw(:std :encoding(UTF-8));
chomp(my $line = <STDIN>);
print "→${line}✓\\n";
""",
    Kind.THREADS: """
use strict; use warnings; use threads;
my @threads = map { threads->create(sub { my $s = 0; $s += $_ for 1 .. 1000; $s }) } 1 .. 4;
my @done = map { $_->join } @threads;
print scalar(@done), "\\n";
""",
    Kind.RECURSION: """
use strict; use warnings;
sub depth { my ($n) = @_; return $n == 0 ? 0 : 1 + depth($n - 1) }
print depth(20000), "\\n";
""",
    Kind.ENDLESS_RECURSION: Cell(
        "sub f { my ($n) = @_; return 1 + f($n + 1) }\nprint f(0);",
        why="its frames are on the heap, and nothing bounds them",
        status=Status.MEMORY_LIMIT,
    ),
    Kind.FORBIDDEN: """
use strict; use warnings;
my $held = "";
for my $path ("/etc/shadow", "/proc/1/environ") {
    open(my $file, "<", $path) or next;
    $held .= join "", <$file>;
}
print $held || "refused", "\\n";
""",
}
