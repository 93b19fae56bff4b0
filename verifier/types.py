"""The values that cross layers: frozen, slotted, with units in their names.

Nothing here does work. A response becomes a `Program`, a ground truth becomes a `Suite`, the
sandbox answers with `RunFacts`, judging turns those into `CaseResult`s, and the engine answers with
a `Result`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum


class Outcome(str, Enum):
    """Whether there is a score at all.

    The three are never mixed: only `SCORED` carries a number.
    """

    SCORED = "SCORED"
    INVALID_SUITE = "INVALID_SUITE"
    INFRA_ERROR = "INFRA_ERROR"


class Status(str, Enum):
    """The closed set of verdicts on one case, and on a whole response."""

    ACCEPTED = "ACCEPTED"
    WRONG_ANSWER = "WRONG_ANSWER"
    TIME_LIMIT = "TIME_LIMIT"
    MEMORY_LIMIT = "MEMORY_LIMIT"
    OUTPUT_LIMIT = "OUTPUT_LIMIT"
    RUNTIME_ERROR = "RUNTIME_ERROR"
    COMPILE_ERROR = "COMPILE_ERROR"
    NO_CODE = "NO_CODE"
    SKIPPED = "SKIPPED"


class SuiteKind(str, Enum):
    """How a suite's cases are run.

    STDIN: the program reads `Case.stdin`, its standard output is compared with `Case.expected`.
    CALL: `Suite.fn_name` is called with `Case.stdin` (a JSON list of arguments); the value it
        returns is compared with `Case.expected` (JSON).
    ASSERT: `Case.test` is Python source that raises when the program is wrong.
    UNIT_TEST: a test framework runs `Suite.unit_tests` with the program, once; each case is the
        test of that name.
    """

    STDIN = "stdin"
    CALL = "call"
    ASSERT = "assert"
    UNIT_TEST = "unit_test"


class Trust(str, Enum):
    """Whether the tests' expected values were out of the program's reach."""

    ISOLATED = "isolated"
    IN_PROCESS = "in_process"


class UnitTestStatus(str, Enum):
    """What a test framework says of one test; NOT_COLLECTED where it says nothing."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    NOT_COLLECTED = "not_collected"


class Killer(str, Enum):
    """Who ended a run, as the supervisor recorded it (never guessed from an exit code)."""

    NONE = "none"
    CPU = "cpu"
    WALL = "wall"
    OUTPUT = "output"
    MEMORY = "memory"
    CANCEL = "cancel"


class Harness(str, Enum):
    """What runs inside the jail.

    EXEC: spawn `argv`.
    PYTHON: fork the warm interpreter and run the artifact as `__main__`.
    PYTHON_CALL: the same, then call `fn_name` with the JSON arguments of the input; the value goes
        to the value channel.
    PYTHON_ASSERT: the same, then execute the input as test source; a completion record goes to the
        value channel. What stands before a NUL byte, if there is one, is executed first of all.
    PYTHON_SERVE: execute the input, the program, then answer calls from a peer run over a socket,
        with plain data.
    PYTHON_TEST: no artifact: execute the input as test source against the program of the peer run;
        a completion record goes to the value channel.
    """

    EXEC = "exec"
    PYTHON = "python"
    PYTHON_CALL = "python_call"
    PYTHON_ASSERT = "python_assert"
    PYTHON_SERVE = "python_serve"
    PYTHON_TEST = "python_test"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of a program may use. Every field must be positive and finite.

    Attributes:
        cpu_time_s: CPU seconds, summed over all processes of the run. This decides TIME_LIMIT.
        wall_time_s: Wall-clock seconds while the slot is granted: the backstop for programs that
            sleep.
        memory_bytes: Resident memory over the whole process tree.
        output_bytes: Per stream; the run is killed at limit + 1.
        processes: Processes and threads at once.
        file_bytes: Size of the tmpfs that is the run's home, and of any one file.
        open_files: Descriptors per process.
    """

    cpu_time_s: float = 10.0
    wall_time_s: float = 21.0
    memory_bytes: int = 1024 * 1024 * 1024
    output_bytes: int = 16 * 1024 * 1024
    processes: int = 64
    file_bytes: int = 256 * 1024 * 1024
    open_files: int = 256

    @staticmethod
    def wall_for(cpu_time_s: float) -> float:
        """The wall limit used when only a CPU limit is given.

        Twice the CPU limit and one second.
        """
        return 2.0 * cpu_time_s + 1.0


@dataclass(frozen=True, slots=True)
class LimitOverrides:
    """Limits as a request or a data row gives them: only what is not None replaces the default."""

    cpu_time_s: float | None = None
    wall_time_s: float | None = None
    memory_bytes: int | None = None
    output_bytes: int | None = None
    processes: int | None = None
    file_bytes: int | None = None
    open_files: int | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """Which part of the response became the program, and why.

    Attributes:
        language: Canonical language name of the program ("" when there is no code).
        block_index: Index of the chosen fenced block among all top-level blocks; None for bare
            code, or none.
        block_count: Fenced blocks found after the reasoning was cut.
        reason: One sentence for a person.
        reasoning_cut: Characters of reasoning that were cut from the front.
        source: The extracted program.
    """

    language: str
    block_index: int | None
    block_count: int
    reason: str
    reasoning_cut: int = 0
    source: bytes = b""


@dataclass(frozen=True, slots=True)
class Program:
    """Source code in one language. `source` is bytes: a response may hold anything."""

    language: str
    source: bytes
    extraction: Extraction | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One test case. Which fields are set follows from the suite's kind (see `SuiteKind`).

    `group` names its subtask, for the score policy of that name; `name` is its test's, where it has
    one.
    """

    stdin: bytes = b""
    expected: bytes | None = None
    test: str | None = None
    weight: float = 1.0
    group: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Comparator:
    """How an output is compared with the expected one.

    Attributes:
        name: One of `verifier.judging.COMPARATORS`.
        abs_tol: Absolute tolerance of numeric tokens.
        rel_tol: Relative tolerance of numeric tokens.
    """

    name: str = "lines"
    abs_tol: float = 1e-6
    rel_tol: float = 1e-6


@dataclass(frozen=True, slots=True)
class Checker:
    """A program that judges one output, where more than one is right.

    Styles, and how such a program is called:
        function: Python source of `check(input, output, answer)`: three texts, with U+FFFD for what
            is not UTF-8. It returns a bool, or a number in [0, 1] as partial points, or a pair of
            one of these and a message.
        testlib: argv is input file, output file, answer file. Exit code 0: right; 1, 2, 4, 8:
            wrong; 7: partial points, "points X" on standard error; all else is a fault of the
            checker.
        script: open-r1's: argv is input file, answer file, output file. A number on standard
            output: 1 or 100 is right, 0 is wrong, between them partial points of 1 or of 100. As
            there, the input and the answer lose carriage returns at the ends of lines, the answer
            and the output their empty lines.
        kattis: argv is input file, answer file, a folder for feedback; the output is on standard
            input. Exit code 42: right, 43: wrong; all else is a fault of the checker.

    A fault of the checker is never the program's verdict: there is no score then.

    Attributes:
        source: Its source code.
        language: Any alias.
        style: See above.
        files: Name and content of what lies beside the source when it is compiled (a `testlib.h`).
        args: Further arguments.
        limits: Replace the defaults for checkers.
        full_points: How many points of the testlib style are a full score.
    """

    source: bytes | str
    language: str = "python"
    style: str = "function"
    files: tuple[tuple[str, bytes], ...] = ()
    args: tuple[str, ...] = ()
    limits: LimitOverrides = LimitOverrides()
    full_points: float = 1.0


@dataclass(frozen=True, slots=True)
class Interactor:
    """A program that talks with the solution: each one's output is the other's input.

    Styles:
        testlib: argv is input file, output file, answer file; exit codes as of a `Checker`. Where
            the suite has a checker too, it judges what the interactor wrote to that output file.
        kattis: argv is input file, answer file, a folder for feedback; exit codes as of a
            `Checker`.

    Attributes:
        source: Its source code.
        language: Any alias.
        style: See above.
        files: As of a `Checker`; so are the next three.
        args: See there.
        limits: See there.
        full_points: See there.
    """

    source: bytes | str
    language: str = "cpp"
    style: str = "testlib"
    files: tuple[tuple[str, bytes], ...] = ()
    args: tuple[str, ...] = ()
    limits: LimitOverrides = LimitOverrides()
    full_points: float = 1.0


@dataclass(frozen=True, slots=True)
class UnitTests:
    """Test files of the data, and where the program goes among them.

    Attributes:
        framework: One of `verifier.languages.MODES`.
        files: Path (relative, with slashes) and content of each.
        solution_file: Path that the program is written to.
        language: What programs are written in.
    """

    framework: str
    files: tuple[tuple[str, bytes], ...]
    solution_file: str
    language: str


@dataclass(frozen=True, slots=True)
class UnitTestResult:
    """What became of one test in a run of its framework."""

    name: str
    status: UnitTestStatus
    seconds: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """The test cases of one problem.

    Attributes:
        kind: See `SuiteKind`.
        cases: In the data's order; never empty.
        fn_name: The function of a CALL suite (and the entry point of an ASSERT suite where it is
            known).
        comparator: How outputs are compared.
        checker: Judges outputs instead of the comparator, where the data has one.
        interactor: Talks with the programs, where the problem is interactive.
        limits: Limits that the data itself states.
        trust: IN_PROCESS where the tests can only run inside the program's process.
        preamble: Python source that an ASSERT suite's tests need and that is the data's own, not
            the program's: helper functions of a prompt, set-up code.
        deterministic: Equal programs get equal verdicts. False where the tests draw lots, or look
            at the time: then no verdict on it is answered from a cache.
        unit_tests: Of a UNIT_TEST suite.
        digest: Hex SHA-256 of all but itself: equal suites have equal digests.
    """

    kind: SuiteKind
    cases: tuple[Case, ...]
    fn_name: str | None = None
    comparator: Comparator = Comparator()
    checker: Checker | None = None
    limits: LimitOverrides = LimitOverrides()
    trust: Trust = Trust.ISOLATED
    preamble: str = ""
    digest: str = ""
    interactor: Interactor | None = None
    deterministic: bool = True
    unit_tests: UnitTests | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What happened in one run, before anybody judges it.

    Attributes:
        exit_code: Exit code of the program's main process; None when a signal ended it.
        signal: The signal that ended it; None when it exited.
        killer: Who ended the run from outside.
        cpu_time_s: CPU of the whole run, all processes.
        wall_time_s: From the moment the program could run to the moment all of it was gone.
        memory_bytes: Peak memory of the whole run.
        oom_kills: Processes of the run that the kernel killed for memory.
        stdout: Up to the output limit.
        stderr: The first bytes of it (an excerpt).
        stdout_bytes: Bytes the program wrote, as far as they were read.
        stderr_bytes: The same of stderr.
        returned: What came over the value channel of a CALL or ASSERT run: JSON; None when nothing
            did.
        run_delay_s: At a wall-clock kill: how long the program was ready to run and had no core.
        ended_ns: On this machine's monotonic clock, when all of the run was gone; taken before
            anybody who talked with it could notice.
        uncompiled: The run was to compile the program first, and it is none: nothing has run.
    """

    exit_code: int | None = None
    signal: int | None = None
    killer: Killer = Killer.NONE
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    memory_bytes: int = 0
    oom_kills: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    returned: bytes | None = None
    run_delay_s: float = 0.0
    ended_ns: int = 0
    uncompiled: bool = False


@dataclass(frozen=True, slots=True)
class CompileFacts:
    """What compiling a program gave.

    Attributes:
        ok: There is an artifact.
        facts: Facts of the compiler's run.
        artifact: Opaque bytes that the runner knows how to run; empty when not `ok`.
        cached: No compiler ran this time.
        message: The head of the compiler's messages.
    """

    ok: bool
    facts: RunFacts
    artifact: bytes = b""
    cached: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The verdict on one case with the facts behind it. stdout and stderr are excerpts.

    `rerun` says that a wall-clock kill under contention was run again alone before it counted;
    `name` is the case's.
    """

    index: int
    status: Status
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    queue_s: float = 0.0
    memory_bytes: int = 0
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    message: str = ""
    points: float | None = None
    rerun: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds spent on one response, by phase. CPU and wall are sums over its cases."""

    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    queue_s: float = 0.0
    compile_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to "what is this response worth?".

    `score` is a number exactly when `outcome` is SCORED; `error` is set exactly when it is not.

    Attributes:
        outcome: See `Outcome`.
        score: In [0, 1] under the default policy, else None.
        status: ACCEPTED when all cases are, else the status of the first that is not; None when not
            scored.
        passed: Accepted cases.
        total: Cases in the suite (0 when the suite is broken).
        cases: One per case, in order.
        extraction: How the program was found.
        compile: Facts of the compiler; None when nothing was compiled.
        timing: Where the time went.
        scorer: Which scorer answered ("sandbox", "prime_code", ...).
        runner: Which backend ran it ("namespaces", "docker", ...).
        cached: The whole result came from a cache.
        trust: See `Trust`.
        fallback: Why the local fallback scored this ("" when it did not).
        error: For a person, names the field or the fault.
        request_id: Echo of the caller's id.
        stopped: Why cases were skipped by the policy's early stop, and after which ("" where none
            was).
        fault: The class of the fault that `error` tells of, for counters; it stays in the process.
    """

    outcome: Outcome
    score: float | None = None
    status: Status | None = None
    passed: int = 0
    total: int = 0
    cases: tuple[CaseResult, ...] = ()
    extraction: Extraction | None = None
    compile: CompileFacts | None = None
    timing: Timing = Timing()
    scorer: str = "sandbox"
    runner: str = ""
    cached: bool = False
    trust: Trust = Trust.ISOLATED
    fallback: str = ""
    error: str = ""
    request_id: str = ""
    stopped: str = ""
    fault: str = ""

    def replace(self, **changes: object) -> Result:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ScorePolicy:
    """How the verdicts on the cases become one number.

    Attributes:
        name: One of `verifier.judging.SCORE_POLICIES`.
        n: For "first_n": how many cases count.
        no_code: Score of a response without a program.
        compile_error: Score of a program that does not compile.
        empty_output: Score of a program that printed nothing in any case and was right in none;
            None: as its cases say.
        max_time_limit_hits: After so many cases, by index, that hit the time limit, all later ones
            are SKIPPED and count as not passed; 0: never. See docs/scheduling.md.
        total_cpu_time_s: CPU seconds of all cases together, by index: the case that exceeds them is
            a TIME_LIMIT, all later ones are SKIPPED; 0: no bound.
    """

    name: str = "pass_rate"
    n: int = 10
    no_code: float = 0.0
    compile_error: float = 0.0
    empty_output: float | None = None
    max_time_limit_hits: int = 0
    total_cpu_time_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ScoreTask:
    """One response to be scored against one suite: what every caller of the engine hands in.

    Attributes:
        response: The model's text. A str may hold lone surrogates.
        suite: The test cases.
        language: Wanted language (any alias), or None to take it from the response.
        limits: Replace the engine's defaults; the suite's own limits come in between.
        comparator: Replaces the suite's.
        checker: Replaces the suite's.
        interactor: Replaces the suite's.
        policy: See `ScorePolicy`.
        extraction_policy: Which block is the program; one of `verifier.extraction.POLICIES`.
        request_id: Echoed in the result.
        client_id: For fair shares.
        priority: Higher first.
        deadline_s: Seconds from now after which the caller no longer wants an answer.
        excerpt_bytes: stdout and stderr kept per case.
        no_cache: Run it, whatever is known of equal ones, and keep nothing of the result.
    """

    response: str | bytes
    suite: Suite
    language: str | None = None
    limits: LimitOverrides = LimitOverrides()
    comparator: Comparator | None = None
    policy: ScorePolicy = ScorePolicy()
    extraction_policy: str = "last"
    request_id: str = ""
    client_id: str = ""
    priority: int = 0
    deadline_s: float | None = None
    excerpt_bytes: int = 2048
    checker: Checker | None = None
    interactor: Interactor | None = None
    no_cache: bool = False


@dataclass(frozen=True, slots=True)
class RunTask:
    """One program and one standard input, no judging.

    Exactly one of `program` and `argv` is set. Files go with a program alone: relative paths below
    its working directory.

    Attributes:
        files: Name and content of what is there when it begins (top-level ones for its compiler
            too).
        fetch: Names of files that are handed back when it has ended by itself.
    """

    program: Program | None = None
    argv: tuple[str, ...] = ()
    stdin: bytes = b""
    limits: LimitOverrides = LimitOverrides()
    request_id: str = ""
    client_id: str = ""
    priority: int = 0
    deadline_s: float | None = None
    files: tuple[tuple[str, bytes], ...] = ()
    fetch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a `RunTask` gave. `status` is ACCEPTED when it exited with 0 within its limits.

    `files` are those of `RunTask.fetch` that were there, `tests` what a test framework reported.
    """

    status: Status
    facts: RunFacts
    compile: CompileFacts | None = None
    runner: str = ""
    message: str = ""
    queue_s: float = 0.0
    files: tuple[tuple[str, bytes], ...] = ()
    tests: tuple[UnitTestResult, ...] = ()
