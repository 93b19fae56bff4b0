"""One allocation that is larger than the machine: refused at once, or ended when it is written to.

Which of the two it is, the machine's settings say; the verdict is the same.
"""

from __future__ import annotations

import pytest
import pytest_asyncio

from verifier.engine import Engine
from verifier.languages import RECIPES
from verifier.types import Limits, Program, RunTask, Status

PROGRAMS = {
    "python": "print(len([0] * 10**12))",
    "pypy": "print(len([0] * 10**12))",
    "cpp": "#include <cstdio>\n#include <vector>\n"
    'int main() { std::vector<long> x(1l << 38); printf("%ld", x[5]); }',
    "rust": 'fn main() { let x = vec![1u8; 1 << 40]; println!("{}", x[5]); }',
    "go": 'package main\nimport "fmt"\nfunc main() { x := make([]byte, 1<<40); fmt.Println(x[5]) }',
    "java": "class A { public static void main(String[] a) {"
    " long[][] x = new long[1 << 16][1 << 16]; System.out.println(x[5][5]); } }",
    "fortran": "integer, allocatable :: x(:)\nallocate(x(2_8**36))\nx = 1\nprint *, x(5)\nend",
    "haskell": "import Data.ByteString as B\nmain = print (B.last (B.replicate (2 ^ 38) 1))",
    "ocaml": "let () = print_char (Bytes.get (Bytes.make (1 lsl 38) 'x') 5)",
    "octave": "x = ones(1e6, 1e6);\ndisp(x(5))",
    "pascal": "const size = int64(1) shl 38;\nvar p: pointer;\n"
    "begin getmem(p, size); fillchar(p^, size, 1); end.",
    "perl": "my $n = 1 << 38; my $x = 'y' x $n; print length $x;",
    "php": "<?php echo strlen(str_repeat('y', 1 << 38));",
    "r": "cat(sum(numeric(1e11)))",
    "racket": "#lang racket\n(displayln (bytes-length (make-bytes (expt 2 38) 1)))",
    "ruby": "n = 1 << 38\nputs ('x' * n).size",
    "verilog": "module m;\n  reg [7:0] x [0:2000000000];\n"
    '  initial begin x[5] = 1; $display("%d", x[5]); $finish; end\nendmodule',
}

pytestmark = [pytest.mark.namespaces, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(namespaces):
    made = Engine(namespaces(), slots=1, default_limits=Limits(memory_bytes=256 * 1024 * 1024))
    await made.start()
    yield made
    await made.close()


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_refused_allocation_is_the_memory_limit(engine, name):
    if name not in engine.info().toolchains:
        pytest.skip(f"no toolchain: {RECIPES[name].remedy}")
    outcome = await engine.run(RunTask(Program(name, PROGRAMS[name].encode())))
    assert outcome.status is Status.MEMORY_LIMIT, outcome
