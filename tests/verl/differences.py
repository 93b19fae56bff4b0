"""The deliberate differences from verl 0.9.1's two scorers of code, as predicates on gaps.

Each says when it applies, what verl gives then and what we give. `docs/differences.md` has the same
names in the same order, with the reasons.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gaps import Gap

from verifier.judging import compare
from verifier.types import Comparator, SuiteKind

FAILED = ("failed", "crash")
ANY = ("ok", "wrong", "failed", "crash", "compile", "time")


@dataclass(frozen=True)
class Difference:
    """One deliberate difference.

    Attributes:
        name: As in docs/differences.md.
        when: Whether it applies to a gap.
        verl: What verl gives: kinds of a case, or None for anything.
        ours: What we give.
        scorers: Which of verl's scorers.
    """

    name: str
    when: Callable[[Gap], bool]
    verl: tuple[object, ...] | None = None
    ours: tuple[object, ...] | None = None
    scorers: tuple[str, ...] = ("prime", "sf")

    def explains(self, gap: Gap) -> bool:
        """The gap is this difference."""
        return (
            gap.scorer in self.scorers
            and (self.verl is None or gap.verl in self.verl)
            and (self.ours is None or gap.ours in self.ours)
            and self.when(gap)
        )


def of_case(gap: Gap) -> bool:
    """The verdict on a case, not the row's score nor a key of the metadata."""
    return gap.index is not None and not gap.key


# ---------------------------------------------------------------- which program is taken


def other_program(gap: Gap) -> bool:
    """By default, we run another program than verl does, or one of the two runs none."""
    return not gap.profile and not gap.key and gap.suite is not None and not gap.same_program


def cuts_reasoning(gap: Gap) -> bool:
    found = gap.extraction
    return found is not None and (found.reasoning_cut > 0 or "reasoning never ends" in found.reason)


def reasoning(gap: Gap) -> bool:
    return other_program(gap) and cuts_reasoning(gap)


def blocks(gap: Gap) -> bool:
    """There is a fence, and our reading of it finds a Python program."""
    fenced = "```" in gap.row.response or "~~~" in gap.row.response
    return (
        other_program(gap)
        and not cuts_reasoning(gap)
        and fenced
        and gap.source is not None
        and gap.extraction is not None
        and gap.extraction.language == "python"
    )


def bare(gap: Gap) -> bool:
    """Nothing but a program."""
    return (
        other_program(gap)
        and not cuts_reasoning(gap)
        and "```" not in gap.row.response
        and "~~~" not in gap.row.response
        and gap.source is not None
    )


def prose(gap: Gap) -> bool:
    """There is no program; prime_code runs the text then, and both may run an empty block."""
    return (
        other_program(gap)
        and not cuts_reasoning(gap)
        and not other_language(gap)
        and gap.source is None
    )


def half_characters(gap: Gap) -> bool:
    """Half of a surrogate pair, which a tokenizer leaves where it cuts an emoji."""
    return runs(gap) and re.search("[\ud800-\udfff]", gap.program) is not None


def other_language(gap: Gap) -> bool:
    """It is no Python, or no block is in the wanted language; verl runs everything as Python."""
    found = gap.extraction
    if gap.profile or gap.key or found is None:
        return False
    return found.language not in ("", "python") or "(tagged " in found.reason


# ---------------------------------------------------------------- how programs are run


def runs(gap: Gap) -> bool:
    """The verdict on a run of one program."""
    return of_case(gap) and gap.same_program


def stdin_run(gap: Gap) -> bool:
    return runs(gap) and gap.suite is not None and gap.suite.kind is SuiteKind.STDIN


def call_run(gap: Gap) -> bool:
    return runs(gap) and gap.suite is not None and gap.suite.kind is SuiteKind.CALL


def assert_run(gap: Gap) -> bool:
    return runs(gap) and gap.suite is not None and gap.suite.kind is SuiteKind.ASSERT


def tree_of(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def names_of(source: str) -> set[str]:
    """Names that a program reads, with dots ("sys.stdin.buffer")."""
    tree = tree_of(source)
    nodes = [] if tree is None else ast.walk(tree)
    return {ast.unparse(node) for node in nodes if isinstance(node, (ast.Name, ast.Attribute))}


def calls_of(source: str) -> set[str]:
    """Calls in a program, as they are written."""
    tree = tree_of(source)
    nodes = [] if tree is None else ast.walk(tree)
    return {ast.unparse(node) for node in nodes if isinstance(node, ast.Call)}


def changed_by_a_function_around_it(gap: Gap) -> bool:
    """Python that means something else when its lines are indented into a function."""
    if not stdin_run(gap):
        return False
    source = gap.program
    tree = tree_of(source)
    if tree is None:
        # Not a program of its own, but one where verl has put it.
        return (
            tree_of("def code():\n" + "\n".join("\t" + x for x in source.split("\n"))) is not None
        )
    nodes = list(ast.walk(tree))
    strings = [
        n
        for n in nodes
        if isinstance(n, (ast.Constant, ast.JoinedStr)) and n.lineno != n.end_lineno
    ]
    late_star = any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in tree.body[1:])
    module_level = {"globals()", "locals()", "vars()", "__name__"}
    guards = [n for n in tree.body[:-1] if isinstance(n, ast.If) and "__name__" in ast.unparse(n)]
    return bool(
        not tree.body  # a function cannot be empty
        or strings
        or late_star
        or guards
        or any(isinstance(n, ast.Global) for n in nodes)
        or module_level & calls_of(source)
        or any(isinstance(n, ast.Return) for n in tree.body)
    )


STREAMS = {"sys.stdin.buffer", "sys.stdout.buffer", "stdin.buffer", "stdout.buffer"}
STREAM_CALLS = (
    "open(0",
    "os.write(1",
    "os.read(0",
    "os.fdopen(",
    "io.open(0",
    "sys.stdin.fileno()",
)


def real_streams(gap: Gap) -> bool:
    """The program uses a stream that a text object in the place of `sys.stdin` does not have."""
    if not stdin_run(gap):
        return False
    calls = calls_of(gap.program)
    return bool(
        STREAMS & names_of(gap.program) or any(c.startswith(s) for s in STREAM_CALLS for c in calls)
    )


def real_ending(gap: Gap) -> bool:
    """What an interpreter does at its end, or does not get to do."""
    return stdin_run(gap) and bool({"atexit.register", "os._exit"} & names_of(gap.program))


def thread_left(gap: Gap) -> bool:
    """It did all it was asked for, but a thread of it never ends."""
    return stdin_run(gap) and "threading.Thread" in names_of(gap.program)


GUARDED = {
    *("exit", "quit", "help", "subprocess.run", "subprocess.Popen", "shutil.rmtree", "shutil.move"),
    *("os.remove", "os.unlink", "os.rename", "os.replace", "os.rmdir", "os.truncate", "os.chmod"),
    *("os.system", "os.kill", "os.fork", "os.getcwd", "os.chdir"),
    *("resource", "psutil", "ctypes", "tkinter"),
}


def taken_away(gap: Gap) -> bool:
    """The program uses what verl's reliability_guard removes."""
    return stdin_run(gap) and bool(GUARDED & names_of(gap.program))


def exit_code(gap: Gap) -> bool:
    """It printed the right thing, and then left by itself with a code that is not 0."""
    result = gap.result
    left = result is not None and bool(result.exit_code) and b"Traceback" not in result.stderr
    return stdin_run(gap) and left


def name_error(gap: Gap) -> bool:
    """It uses a name that it does not import."""
    said = b"" if gap.result is None else gap.result.stderr
    return stdin_run(gap) and re.search(rb"NameError: name '\w+' is not defined", said) is not None


def recursion(gap: Gap) -> bool:
    return stdin_run(gap) and gap.result is not None and b"RecursionError" in gap.result.stderr


def many_digits(gap: Gap) -> bool:
    expected = gap.case.expected if gap.case is not None else None
    return stdin_run(gap) and re.search(rb"[0-9]{4301}", expected or b"") is not None


def alone_all_pass(gap: Gap) -> bool:
    """Not all cases pass in one process, but each does alone: verl's score is then no boolean."""
    count = 0 if gap.suite is None else len(gap.suite.cases)
    return gap.key == "score" and gap.ours is True and 1 < count <= 10


def own_process(gap: Gap) -> bool:
    """What one case leaves behind changes the next."""
    return alone_all_pass(gap) and gap.row.timeout_s is None


def own_clock(gap: Gap) -> bool:
    """The limit of prime_code's first check is for all cases together."""
    return alone_all_pass(gap) and gap.row.timeout_s is not None


def cpu_decides(gap: Gap) -> bool:
    """It slept beyond verl's limit, and used little CPU."""
    result, limit = gap.result, gap.row.timeout_s
    return (
        runs(gap)
        and result is not None
        and limit is not None
        and result.wall_time_s > limit
        and result.cpu_time_s < limit
    )


def over_a_limit(gap: Gap) -> bool:
    """Over a limit of memory or output: prime_code has none, sandbox_fusion no name for it."""
    message = "" if gap.result is None else gap.result.message
    return runs(gap) and message.startswith(("over the memory limit", "over the output limit"))


# ---------------------------------------------------------------- how outputs are compared


def lines_of_tokens(data: bytes) -> list[list[bytes]]:
    return [line.split() for line in data.split(b"\n") if line.split()]


def compared(gap: Gap) -> tuple[bytes, bytes] | None:
    """Output and expected output, where both scorers compared the same two."""
    if gap.profile or not stdin_run(gap) or has_checker(gap):
        return None
    if gap.result is None or gap.case is None:
        return None
    output, expected = gap.result.stdout, gap.case.expected or b""
    theirs = Comparator("prime" if gap.scorer == "prime" else "verl-sf")
    same = compare(output, expected, theirs).ok == (gap.verl == "ok")
    return (output, expected) if same else None


def blanks(gap: Gap) -> bool:
    pair = compared(gap)
    return pair is not None and lines_of_tokens(pair[0]) == lines_of_tokens(pair[1])


def tolerance(gap: Gap) -> bool:
    """The same but for numbers with a decimal point."""
    pair = compared(gap)
    return (
        pair is not None
        and lines_of_tokens(pair[0]) != lines_of_tokens(pair[1])
        and compare(*pair, Comparator("lines", 1e-6, 1e-6)).ok
    )


def as_floats(data: bytes) -> list[float] | None:
    try:
        return [float(line) for line in data.decode().split("\n") if line.strip()]
    except ValueError:
        return None


def strict_numbers(gap: Gap) -> bool:
    """Lines that `float` reads, and that are no equal numbers as we read them."""
    pair = compared(gap)
    return pair is not None and None not in map(as_floats, pair)


def line_ends(gap: Gap) -> bool:
    """A character that `str.splitlines` takes for a line end."""
    pair = compared(gap)
    return (
        pair is not None
        and re.search("[\v\f\x1c-\x1e\x85\u2028\u2029]", pair[0].decode("utf-8", "replace"))
        is not None
    )


def has_checker(gap: Gap) -> bool:
    """The data brings its own judge."""
    return stdin_run(gap) and gap.suite is not None and gap.suite.checker is not None


def value(gap: Gap) -> bool:
    """The value of a call, by default."""
    return call_run(gap) and not gap.profile


def expected_value(gap: Gap) -> object:
    assert gap.case is not None
    return json.loads(gap.case.expected or b"null")


def first_item(gap: Gap) -> bool:
    wanted = expected_value(gap) if value(gap) else None
    said = "" if gap.result is None else gap.result.message
    return isinstance(wanted, list) and bool(wanted) and f"got '{json.dumps(wanted[0])}'" in said


def true_is_one(gap: Gap) -> bool:
    said = "" if gap.result is None else gap.result.message
    return (
        value(gap)
        and re.search(r"expected 'true', got '1'|expected '1', got 'true'", said) is not None
    )


def text_of_value(gap: Gap) -> bool:
    """Not the text that is expected, or no more than that text."""
    return value(gap)


def has_float(gap: Gap) -> bool:
    return value(gap) and re.search(r"\d\.\d", json.dumps(expected_value(gap))) is not None


def as_json(gap: Gap) -> bool:
    """A list or a dict in a list: tuples are lists, keys are strings, at any depth."""
    wanted = expected_value(gap) if call_run(gap) else None
    return isinstance(wanted, list) and any(isinstance(item, (list, dict)) for item in wanted)


# ---------------------------------------------------------------- calls and asserts


def no_value(gap: Gap) -> bool:
    """A call that raised or was not reached: sandbox_fusion's wrapper exits with 0 all the same."""
    return call_run(gap)


def printed(gap: Gap) -> bool:
    """It printed besides returning: sandbox_fusion reads the value from standard output."""
    return call_run(gap) and gap.result is not None and gap.result.stdout_bytes > 0


def compiles(source: str) -> bool:
    try:
        compile(source, "main.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def no_syntax(gap: Gap) -> bool:
    return runs(gap) and not compiles(gap.program)


def raised_at_load(gap: Gap) -> bool:
    """It is a program, but raises before the function can be called, or has no such function."""
    return call_run(gap) and compiles(gap.program)


def no_data(gap: Gap) -> bool:
    """It returned what JSON cannot hold."""
    message = "" if gap.result is None else gap.result.message
    return call_run(gap) and message.startswith("returned what is not plain data")


def keeps_function(gap: Gap) -> bool:
    """One by one, prime_code runs the cases of a call suite as scripts that print nothing."""
    return gap.key == "score" and gap.suite is not None and gap.suite.kind is SuiteKind.CALL


def has_asserts(gap: Gap) -> bool:
    return gap.suite is not None and gap.suite.kind is SuiteKind.ASSERT


def asserts_scored(gap: Gap) -> bool:
    return has_asserts(gap) and gap.index is None and gap.verl == "no suite"


def asserts_alone(gap: Gap) -> bool:
    """There are outputs beside the asserts."""
    return has_asserts(gap) and of_case(gap) and "outputs" in json.loads(gap.row.truth)


def record_needed(gap: Gap) -> bool:
    """An exit code of 0 is all that sandbox_fusion asks of an assert."""
    return assert_run(gap)


# ---------------------------------------------------------------- data


def parsed(gap: Gap) -> object:
    try:
        return json.loads(gap.row.truth) if isinstance(gap.row.truth, str) else gap.row.truth
    except ValueError:
        return None


def broken(gap: Gap) -> bool:
    return gap.suite is None and gap.index is None


def other_format(gap: Gap) -> bool:
    """No object with inputs and outputs (or asserts), which is all that verl reads."""
    data = parsed(gap)
    known = isinstance(data, dict) and ("inputs" in data or "assert_case" in data)
    return gap.suite is not None and gap.index is None and not known


def not_text(gap: Gap) -> bool:
    """An input or an output that is no string."""
    data = parsed(gap)
    if not isinstance(data, dict) or not runs(gap):
        return False
    columns: Iterable[object] = [*data.get("inputs", []), *data.get("outputs", [])]
    return any(not isinstance(cell, str) for cell in columns)


# ---------------------------------------------------------------- prime_code.compute_score


def plain_mode(gap: Gap) -> bool:
    return gap.key == "plain"


def error_text(gap: Gap) -> bool:
    return gap.key in ("error", "traceback")


def call_output(gap: Gap) -> bool:
    return gap.key == "output" and gap.suite is not None and gap.suite.kind is SuiteKind.CALL


def long_output(gap: Gap) -> bool:
    return gap.key == "output" and gap.result is not None and gap.result.stdout_bytes > 2048


def _(*names: str) -> tuple[str, ...]:
    return names


LIST = (
    # which program is taken
    Difference("reasoning-is-cut", reasoning),
    Difference("blocks-as-in-commonmark", blocks),
    Difference("bare-programs", bare, _("no code"), scorers=("sf",)),
    Difference(
        "prose-is-no-program", prose, _("failed", ("wrong", "wrong")), _("compile", "no code")
    ),
    Difference("other-languages", other_language),
    Difference("half-characters", half_characters, _("compile"), None, ("prime",)),
    # how programs are run
    Difference("scripts-stay-scripts", changed_by_a_function_around_it, scorers=("prime",)),
    Difference(
        "streams-are-real", real_streams, _("failed", "wrong"), _("ok", "wrong"), ("prime",)
    ),
    Difference("interpreters-end", real_ending, _("failed", "wrong"), _("ok", "wrong"), ("prime",)),
    Difference("threads-are-waited-for", thread_left, _("ok"), _("failed"), ("prime",)),
    Difference("nothing-is-taken-away", taken_away, _("failed"), _("ok"), ("prime",)),
    Difference("exit-codes-count", exit_code, _("ok"), _("failed"), ("prime",)),
    Difference("names-are-imported", name_error, _("ok"), _("failed"), ("prime",)),
    Difference("recursion-limit", recursion, _("ok"), _("failed"), ("prime",)),
    Difference("integers-of-any-size", many_digits, FAILED, _("ok")),
    Difference("a-process-for-each-case", own_process, (1.0,), (True,), ("prime",)),
    Difference("a-clock-for-each-case", own_clock, (1.0,), (True,), ("prime",)),
    Difference("cpu-time-decides", cpu_decides, _("failed", "time"), _("ok")),
    Difference("memory-and-output-limits", over_a_limit, _("ok"), _("failed"), ("prime",)),
    Difference(
        "limits-have-a-name", over_a_limit, _("crash", "time"), _("memory", "output"), ("sf",)
    ),
    Difference("compile-errors-have-a-name", no_syntax, _("crash"), _("compile"), ("sf",)),
    # how outputs are compared
    Difference("blanks-do-not-count", blanks, _("wrong"), _("ok")),
    Difference("numbers-have-a-tolerance", tolerance, _("wrong"), _("ok")),
    Difference("numbers-are-strict", strict_numbers, _("ok"), _("wrong"), ("prime",)),
    Difference("line-ends", line_ends, _("ok"), _("wrong"), ("prime",)),
    Difference("checkers-judge", has_checker, _("wrong", "ok"), _("ok", "wrong")),
    # calls
    Difference("values-not-text", text_of_value, _("wrong", "ok"), _("ok", "wrong"), ("sf",)),
    Difference("float-values-have-a-tolerance", has_float, _("wrong"), _("ok"), ("prime",)),
    Difference("values-as-json", as_json, _("wrong"), _("ok"), ("prime",)),
    Difference("lists-are-not-unwrapped", first_item, _("ok"), _("wrong"), ("prime",)),
    Difference("true-is-not-1", true_is_one, _("ok"), _("wrong"), ("prime",)),
    Difference("printing-is-no-value", printed, _("wrong"), _("ok"), ("sf",)),
    Difference("no-value-is-an-error", no_value, _("wrong"), _("crash"), ("sf",)),
    Difference("values-that-are-no-data", no_data, _("failed"), _("wrong"), ("prime",)),
    Difference(
        "only-syntax-fails-to-compile", raised_at_load, _("compile"), _("failed"), ("prime",)
    ),
    # asserts
    Difference("asserts-are-scored", asserts_scored, scorers=("prime",)),
    Difference("asserts-alone-decide", asserts_alone, _("wrong"), _("ok")),
    Difference("asserts-need-a-record", record_needed, _("ok"), _("crash", "wrong"), ("sf",)),
    Difference("a-failed-assert-is-wrong", record_needed, _("crash"), _("wrong"), ("sf",)),
    # data
    Difference("broken-data-is-no-score", broken, None, _("no suite")),
    Difference("other-formats", other_format, _("no suite")),
    Difference("lists-and-numbers-as-text", not_text, _("failed", "crash", "wrong"), _("ok")),
    # what prime_code.compute_score returns
    Difference("calls-keep-their-function", keeps_function, scorers=("prime",)),
    Difference(
        "false-without-continuous", plain_mode, _("raised UnboundLocalError"), (False,), ("prime",)
    ),
    Difference("error-texts", error_text, scorers=("prime",)),
    Difference("output-of-calls", call_output, scorers=("prime",)),
    Difference("excerpts-of-outputs", long_output, scorers=("prime",)),
)
