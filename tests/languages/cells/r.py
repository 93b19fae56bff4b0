"""R. Its threads are forked processes, of the parallel package."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "cat(6)",
    Kind.COMPILE_ERROR: "x <- (",
    Kind.EXIT_CODE: "quit(status = 3)",
    Kind.CPU: "repeat {}",
    Kind.SLEEP: "Sys.sleep(60)",
    Kind.MEMORY: "kept <- list()\nrepeat kept[[length(kept) + 1]] <- rep(1, 2^19)",
    Kind.FLOOD: 'repeat cat(strrep("x", 1000), "\\n")',
    Kind.BIG_STDIN: """
lines <- readLines(file("stdin"))
cat(length(lines), sum(nchar(gsub("[^x]", "", lines))), "\\n")
""",
    Kind.UNICODE: """
line <- readLines(file("stdin"), n = 1)
cat("→", line, "✓\\n", sep = "")
""",
    Kind.THREADS: """
done <- parallel::mclapply(1:4, function(i) sum(1:1000), mc.cores = 4)
cat(length(unlist(done)), "\\n")
""",
    Kind.RECURSION: """
options(expressions = 500000)
invisible(compiler::enableJIT(0))
depth <- function(n) if (n == 0) 0 else 1 + depth(n - 1)
cat(depth(20000), "\\n")
""",
    Kind.ENDLESS_RECURSION: "f <- function(n) 1 + f(n + 1)\ncat(f(0))",
    Kind.FORBIDDEN: """
held <- function(path) {
  tryCatch(readLines(path), error = function(e) "", warning = function(w) "")
}
text <- unlist(lapply(c("/etc/shadow", "/proc/1/environ"), held))
cat(if (all(text == "")) "refused" else text, "\\n")
""",
}
