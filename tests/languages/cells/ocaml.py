"""OCaml."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "let () = print_int 6",
    Kind.COMPILE_ERROR: "let () = print_int x",
    Kind.EXIT_CODE: "let () = exit 3",
    Kind.CPU: "let () = while true do () done",
    Kind.SLEEP: "let () = Unix.sleep 60",
    Kind.MEMORY: """
let rec keep kept = keep (Bytes.make (1 lsl 22) 'x' :: kept)
let () = keep []
""",
    Kind.FLOOD: "let () = while true do print_endline (String.make 1000 'x') done",
    Kind.BIG_STDIN: """
let lines = ref 0 and xs = ref 0
let () =
  (try
     while true do
       let line = input_line stdin in
       incr lines;
       String.iter (fun c -> if c = 'x' then incr xs) line
     done
   with End_of_file -> ());
  Printf.printf "%d %d\\n" !lines !xs
""",
    Kind.UNICODE: 'let () = Printf.printf "→%s✓\\n" (read_line ())',
    Kind.THREADS: """
let lock = Mutex.create ()
let finished = ref 0
let work n =
  let sum = List.fold_left (+) 0 (List.init 1000 (fun i -> i + n)) in
  Mutex.lock lock;
  if sum > 0 then incr finished;
  Mutex.unlock lock
let () =
  List.iter Thread.join (List.init 4 (Thread.create work));
  Printf.printf "%d\\n" !finished
""",
    Kind.RECURSION: """
let rec depth n = if n = 0 then 0 else 1 + depth (n - 1)
let () = Printf.printf "%d\\n" (depth 20000)
""",
    Kind.ENDLESS_RECURSION: "let rec f n = 1 + f (n + 1)\nlet () = print_int (f 0)",
    Kind.FORBIDDEN: """
let held path =
  try
    let file = open_in_bin path in
    let text = Bytes.create 4096 in
    Bytes.sub_string text 0 (input file text 0 4096)
  with Sys_error _ -> ""
let () =
  match String.concat "" (List.map held ["/etc/shadow"; "/proc/1/environ"]) with
  | "" -> print_endline "refused"
  | text -> print_endline text
""",
}
