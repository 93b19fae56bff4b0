"""Interactive problems: a program and an interactor that talk, in a slot and its partner.

Two pipes join them, each one's standard output to the other's standard input. Neither side's
runner lets go of its ends before its run is over and the time of that is taken, so whoever ended
first is known for certain: nobody can see that its partner is gone, and die of it, at an earlier
time. (A side that closes its output without ending is therefore not noticed by the other.)

Last words that nobody reads are no failure of either side, else the verdict would depend on who is
faster: an interactor does not die of SIGPIPE, and the pipe that the program writes to stays open
until the program is done, unless the interactor has found it wrong.

Both wait for each other until the program's wall limit ends it, which is shorter than the
interactor's. An interactor that computes for ever meets its own CPU limit first, at half of the
program's wall limit. A conversation that went wrong by the interactor's fault is held once more;
then there is no score.

Who is to blame is decided in `verifier.judging.programs`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import io
import os
from collections.abc import AsyncIterator, Sequence

from verifier.engine.checkers import FEEDBACK, SECOND, THIRD, Helper
from verifier.engine.pool import SlotPool
from verifier.engine.shop import ATTEMPTS
from verifier.engine.tests import both
from verifier.errors import HelperError, SlotError
from verifier.judging import Verdict, answer_of, conversation, is_final
from verifier.languages import Recipe
from verifier.sandbox.base import RunJob, Slot, Wire
from verifier.types import Case, Interactor, RunFacts

# A side that writes much before it reads would block on a short pipe, and so deadlock with a
# partner that does the same: see Kattis/problemtools issue 113. It is what any user may ask for.
PIPE_BYTES = 1024 * 1024
# The file an interactor writes for a checker: the value channel.
OUTPUT_FILE = "/proc/self/fd/3"


@dataclasses.dataclass(frozen=True, slots=True)
class Talk:
    """How a conversation ended.

    Attributes:
        facts: Of the program.
        verdict: Of the interactor, or of what the program did.
        output: What the interactor wrote to its output file.
    """

    facts: RunFacts
    verdict: Verdict
    output: bytes


async def converse(
    pool: SlotPool,
    slot: Slot,
    helper: Helper,
    recipe: Recipe,
    program: RunJob,
    index: int,
    case: Case,
) -> Talk:
    """Run the program of `program` (its inputs and wires are not looked at) with an interactor.

    `recipe` is of the program's language.

    Raises:
        SlotError: One of the two slots failed.
        HelperError: The interactor failed, twice.
    """
    assert isinstance(helper.program, Interactor)  # noqa: S101 - for the type checker
    wall_s = program.limits.wall_time_s
    limits = dataclasses.replace(
        helper.limits,
        cpu_time_s=min(helper.limits.cpu_time_s, wall_s / 2),
        wall_time_s=wall_s + helper.limits.wall_time_s,
    )
    files = (SECOND, THIRD, FEEDBACK)
    if helper.program.style == "testlib":
        files = (SECOND, OUTPUT_FILE, THIRD)
    partner_job = dataclasses.replace(
        helper.job(files, [b""], limits),
        extra=[(case.stdin, case.expected or b"")],
        channel=helper.program.style == "testlib",
    )
    reason = ""
    for _ in range(ATTEMPTS):
        partner = await pool.partner(slot)
        facts, theirs = await _talk(slot, program, partner, partner_job, helper.program)
        facts = recipe.told(facts)
        answer = conversation(helper.program, facts, program.limits, theirs, limits)
        if isinstance(answer, Verdict):
            return Talk(facts, answer, theirs.returned or b"")
        reason = answer.reason
    raise HelperError(f"{helper.name}: on case {index}: {reason}")


async def _talk(
    slot: Slot, program: RunJob, partner: Slot, interactor: RunJob, source: Interactor
) -> tuple[RunFacts, RunFacts]:
    kept: list[io.FileIO] = []

    async def listen(runs: AsyncIterator[RunFacts]) -> RunFacts:
        facts = await _only(runs)
        if is_final(answer_of(source, facts, interactor.limits)):
            kept[0].close()
        return facts

    wires: list[Wire] = []
    try:
        wires += _wires()
        kept.append(io.FileIO(os.dup(wires[1].stdin.fileno()), "rb"))
        one = slot.run(dataclasses.replace(program, inputs=[b""], wires=(wires[0],)))
        other = partner.run(dataclasses.replace(interactor, wires=(wires[1],)))
        async with (
            contextlib.aclosing(one) as ours,  # type: ignore[type-var]
            contextlib.aclosing(other) as theirs,  # type: ignore[type-var]
        ):
            return await both(_only(ours), listen(theirs))
    finally:
        for end in kept:
            end.close()
        for wire in wires:
            wire.close()


def _wires() -> tuple[Wire, Wire]:
    """Two pipes; what is written at one end of the first pair is read at the other's."""
    ends: list[io.FileIO] = []
    try:
        for _ in range(2):
            read_end, write_end = os.pipe2(os.O_CLOEXEC)
            ends += [io.FileIO(read_end, "rb"), io.FileIO(write_end, "wb")]
            # /dev/stdin and /dev/stdout open the pipe anew, as the payload's own user.
            os.fchmod(read_end, 0o666)
            with contextlib.suppress(OSError):  # no more pipe memory for this user: a short one
                fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except BaseException:
        for end in ends:
            end.close()
        raise
    return Wire(ends[0], ends[3]), Wire(ends[2], ends[1])


async def _only(runs: AsyncIterator[RunFacts]) -> RunFacts:
    """The facts of a job of one run, to the end of the job."""
    found: Sequence[RunFacts] = [f async for f in runs]
    if len(found) != 1:
        raise SlotError(f"{len(found)} answers for one run")
    return found[0]
