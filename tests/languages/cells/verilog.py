"""Verilog and SystemVerilog, simulated."""

from tests.languages.cells.base import Cell, Cells, Impossible, Kind
from verifier.types import Status

CELLS: Cells = {
    Kind.WRONG_ANSWER: 'module main; initial begin $display("6"); $finish; end endmodule',
    Kind.COMPILE_ERROR: "module main; initial begin x = 1; end endmodule",
    Kind.EXIT_CODE: "module main; initial $finish_and_return(3); endmodule",
    Kind.CPU: "module main; reg x = 0; initial forever x = ~x; endmodule",
    Kind.SLEEP: Impossible("its delays are of simulated time, which nobody waits for"),
    Kind.MEMORY: """
module main;
  int kept[$];
  initial forever kept.push_back(1);
endmodule
""",
    Kind.FLOOD: 'module main; initial forever $display("%1000d", 1); endmodule',
    Kind.BIG_STDIN: """
module main;
  integer c, lines = 0, xs = 0;
  initial begin
    c = $fgetc('h8000_0000);
    while (c != -1) begin
      if (c == "\\n") lines = lines + 1;
      if (c == "x") xs = xs + 1;
      c = $fgetc('h8000_0000);
    end
    $display("%0d %0d", lines, xs);
    $finish;
  end
endmodule
""",
    Kind.UNICODE: """
module main;
  reg [8*100:1] line;
  integer n;
  initial begin
    n = $fgets(line, 'h8000_0000);
    $display("→%0s✓", line >> 8);  // without the line's end
    $finish;
  end
endmodule
""",
    Kind.THREADS: """
module main;
  integer finished = 0;
  task work;
    input integer i;
    begin
      #(i) finished = finished + 1;
    end
  endtask
  initial begin
    fork
      work(1);
      work(2);
      work(3);
      work(4);
    join
    $display("%0d", finished);
    $finish;
  end
endmodule
""",
    Kind.RECURSION: """
module main;
  function automatic integer depth(input integer n);
    if (n == 0) depth = 0;
    else depth = 1 + depth(n - 1);
  endfunction
  initial begin
    $display("%0d", depth(20000));
    $finish;
  end
endmodule
""",
    Kind.ENDLESS_RECURSION: Cell(
        """
module main;
  function automatic integer f(input integer n);
    f = 1 + f(n + 1);
  endfunction
  initial begin
    $display("%0d", f(0));
    $finish;
  end
endmodule
""",
        why="its frames are on the heap too, and that part is larger",
        status=Status.MEMORY_LIMIT,
    ),
    Kind.FORBIDDEN: """
module main;
  integer shadow, environment;
  reg [8*1000:1] held;
  integer n;
  initial begin
    shadow = $fopen("/etc/shadow", "r");
    environment = $fopen("/proc/1/environ", "r");
    if (shadow == 0 && environment == 0) $display("refused");
    else begin
      n = $fgets(held, shadow == 0 ? environment : shadow);
      $display("%0s", held);
    end
    $finish;
  end
endmodule
""",
}
