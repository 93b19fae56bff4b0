"""Racket."""

from tests.languages.cells.base import Cell, Cells, Kind
from verifier.types import Status

CELLS: Cells = {
    Kind.WRONG_ANSWER: "#lang racket\n(displayln 6)",
    Kind.COMPILE_ERROR: "#lang racket\n(displayln x",
    Kind.EXIT_CODE: "#lang racket\n(exit 3)",
    Kind.CPU: "#lang racket\n(let loop () (loop))",
    Kind.SLEEP: "#lang racket\n(sleep 60)",
    Kind.MEMORY: """#lang racket
(let keep ([kept '()])
  (keep (cons (make-bytes (expt 2 22) 120) kept)))
""",
    Kind.FLOOD: "#lang racket\n(let loop () (displayln (make-string 1000 #\\x)) (loop))",
    Kind.BIG_STDIN: """#lang racket
(define-values (lines xs)
  (for/fold ([lines 0] [xs 0]) ([line (in-lines)])
    (values (add1 lines) (+ xs (for/sum ([c line]) (if (char=? c #\\x) 1 0))))))
(printf "~a ~a\\n" lines xs)
""",
    Kind.UNICODE: '#lang racket\n(printf "→~a✓\\n" (read-line))',
    Kind.THREADS: """#lang racket
(define done (make-channel))
(for ([i 4])
  (thread (lambda () (channel-put done (for/sum ([n 1000]) (+ n i))))))
(displayln (length (for/list ([i 4]) (channel-get done))))
""",
    Kind.RECURSION: """#lang racket
(define (depth n) (if (zero? n) 0 (add1 (depth (sub1 n)))))
(displayln (depth 20000))
""",
    Kind.ENDLESS_RECURSION: Cell(
        "#lang racket\n(define (f n) (add1 (f (add1 n))))\n(displayln (f 0))",
        why="its frames are on the heap, and nothing bounds them",
        status=Status.MEMORY_LIMIT,
    ),
    Kind.FORBIDDEN: """#lang racket
(define (held path)
  (with-handlers ([exn:fail:filesystem? (const "")])
    (file->string path)))
(define text (string-append* (map held '("/etc/shadow" "/proc/1/environ"))))
(displayln (if (string=? text "") "refused" text))
""",
}
