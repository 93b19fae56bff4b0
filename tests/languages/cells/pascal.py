"""Pascal."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "begin writeln(6); end.",
    Kind.COMPILE_ERROR: "begin writeln(x); end.",
    Kind.EXIT_CODE: "begin halt(3); end.",
    Kind.CPU: "begin while true do ; end.",
    Kind.SLEEP: "uses sysutils;\nbegin sleep(60000); end.",
    Kind.MEMORY: """
var block: pointer;
begin
  while true do
  begin
    getmem(block, 1 shl 22);
    fillchar(block^, 1 shl 22, 1);
  end;
end.
""",
    Kind.FLOOD: "begin while true do writeln(stringofchar('x', 1000)); end.",
    Kind.BIG_STDIN: """
{$H+}
var
  line: string;
  c: char;
  lines, xs: longint;
begin
  lines := 0;
  xs := 0;
  while not eof do
  begin
    readln(line);
    inc(lines);
    for c in line do
      if c = 'x' then inc(xs);
  end;
  writeln(lines, ' ', xs);
end.
""",
    Kind.UNICODE: """
{$H+}
var line: string;
begin
  readln(line);
  writeln('→', line, '✓');
end.
""",
    Kind.THREADS: """
{$mode objfpc}
uses cthreads, classes;
type
  TWorker = class(TThread)
    sum: longint;
    procedure Execute; override;
  end;
procedure TWorker.Execute;
var i: longint;
begin
  for i := 1 to 1000 do sum := sum + i;
end;
var
  workers: array[1..4] of TWorker;
  i, finished: longint;
begin
  for i := 1 to 4 do workers[i] := TWorker.Create(false);
  finished := 0;
  for i := 1 to 4 do
  begin
    workers[i].WaitFor;
    if workers[i].sum = 500500 then inc(finished);
    workers[i].Free;
  end;
  writeln(finished);
end.
""",
    Kind.RECURSION: """
function depth(n: longint): longint;
begin
  if n = 0 then depth := 0 else depth := 1 + depth(n - 1);
end;
begin
  writeln(depth(20000));
end.
""",
    Kind.ENDLESS_RECURSION: """
function f(n: int64): int64;
begin
  f := 1 + f(n + 1);
end;
begin
  writeln(f(0));
end.
""",
    Kind.FORBIDDEN: """
{$mode objfpc}{$H+}
uses classes, sysutils;
var
  path: string;
  held: TStringList;
  text: string;
begin
  text := '';
  held := TStringList.Create;
  for path in TStringArray.Create('/etc/shadow', '/proc/1/environ') do
    try
      held.LoadFromFile(path);
      text := text + held.Text;
    except
      on EFOpenError do ;
    end;
  if text = '' then text := 'refused';
  writeln(text);
end.
""",
}
