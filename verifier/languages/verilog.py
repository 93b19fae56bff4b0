"""Verilog and SystemVerilog, simulated by Icarus Verilog."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

VERILOG = Recipe(
    name="verilog",
    title="Verilog (simulated)",
    aliases=("systemverilog", "sv", "iverilog", "icarus"),
    family="hardware",
    packages=("iverilog",),
    sandbox_fusion=("verilog",),
    source_name="main.v",
    run_harness=Harness.EXEC,
    compile_argv=("iverilog", "-g2012", "-Wno-timescale", "-o", "main", "main.v"),
    outputs=("main",),
    # -n: `$stop` ends the simulation, instead of asking for a command.
    run_argv=("vvp", "-n", "/program/main"),
    version_argv=("iverilog", "-V"),
    needs=("vvp",),
    self_test="module main;\n  integer a, b, n;\n  initial begin\n"
    '    n = $fscanf(\'h8000_0000, "%d %d", a, b);\n    $display("%0d", a + b);\n'
    "    $finish;\n  end\nendmodule\n",
    memory_marks=(b"std::bad_alloc",),
    stack_overflow="memory limit",
    notes=(
        "Standard input is the descriptor `'h8000_0000`. `$finish` is exit code 0, `$fatal` 1; "
        "`$finish_and_return(n)` is Icarus's own."
    ),
)
