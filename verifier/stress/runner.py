"""Attacks against one backend: each in a slot that is swept afterwards and then used again.

An arena is one engine with one slot. Several of them share a sandbox, so that attacks run beside
each other as programs do in service, and take their attacks from one queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from verifier import languages
from verifier.engine import Engine
from verifier.errors import VerifierError
from verifier.sandbox import conformance
from verifier.sandbox.base import CompileJob, Guarantee, Sandbox, Slot
from verifier.stress.catalogue import LIMITS, MIB, Attack, Kind
from verifier.stress.observe import CANARY, Observation, canary, differences, observe, plain_text
from verifier.stress.report import Finding, Mark
from verifier.stress.sweep import SERVICE_FD_SLACK, Scope, ServiceSweep, SlotSweep, processes
from verifier.types import Case, Harness, Limits, ScoreTask, Suite, SuiteKind

# What is left has so long to go, and so many looks: the kernel frees some of it after the last
# process is gone, and on a busy host one look may take as long as all of that.
SETTLE_S = 2.0
SETTLE_LOOKS = 10
PRINTED_BYTES = 4096
MAX_LIMITS = Limits(
    cpu_time_s=60.0,
    wall_time_s=120.0,
    memory_bytes=2048 * MIB,
    output_bytes=64 * MIB,
    processes=512,
    file_bytes=1024 * MIB,
    open_files=4096,
)


WARM_UP = Suite(SuiteKind.ASSERT, (Case(test="assert True"),))


class Lent:
    """A started sandbox that an arena's engine uses and does not close; it keeps the slots."""

    def __init__(self, sandbox: Sandbox, *, ask: bool = True) -> None:
        """The owner starts and closes the sandbox; `ask` it for its toolchains, or assume all."""
        self._sandbox = sandbox
        self._ask = ask
        self.name = sandbox.name
        self.slots: list[Slot] = []

    async def start(self) -> None:
        """Nothing: it is started."""

    async def close(self) -> None:
        """Nothing: its owner closes it."""

    async def open_slot(self, cpu: int | None = None) -> Slot:
        """A slot that is remembered."""
        slot = await self._sandbox.open_slot(cpu)
        self.slots.append(slot)
        return slot

    async def guarantees(self) -> tuple[Guarantee, ...]:
        """The sandbox's."""
        return await self._sandbox.guarantees()

    async def toolchains(self) -> dict[str, str]:
        """The sandbox's."""
        return await self._sandbox.toolchains() if self._ask else {}

    async def packages(self) -> dict[str, dict[str, str]]:
        """The sandbox's."""
        return await self._sandbox.packages() if self._ask else {}


class Arena:
    """One engine, one slot and its partner, and what they looked like when they were new."""

    def __init__(self, sandbox: Sandbox, *, ask: bool = True) -> None:
        """The sandbox is started, and stays its owner's. `ask`: see `Lent`."""
        self.backend = sandbox.name
        self._lent = Lent(sandbox, ask=ask)
        self._numbers = itertools.count(os.getpid())

    async def start(self) -> None:
        """Open the slot, and look at it.

        Raises:
            BackendError: There is none.
        """
        self._engine = Engine(self._lent, slots=1, max_limits=MAX_LIMITS)
        await self._engine.start()
        guarantees = self._engine.info().guarantees
        self._missing = {g.name.value for g in guarantees if not g.holds}
        self._toolchains = set(self._engine.info().toolchains)
        # Tests and interactors run in the slot's partner: it is there from the start too.
        await self._engine.score(ScoreTask(b"x = 1", WARM_UP, language="python"))
        await self._baseline()

    async def close(self) -> None:
        """Give the slots back."""
        await self._engine.close()

    @property
    def slot(self) -> Slot:
        """The slot that attacks run in."""
        return self._lent.slots[0]

    def scope(self) -> Scope:
        """What its sweeps can look at."""
        return self._sweeps[self.slot.name].scope()

    async def _baseline(self) -> None:
        compiled = await self.slot.compile(
            CompileJob(Harness.PYTHON, {"main.py": CANARY}, (), (), LIMITS)
        )
        self._canary = compiled.artifact
        self._sweeps: dict[str, SlotSweep] = {}
        self._before: dict[str, frozenset[str]] = {}
        self._like: dict[str, dict[str, object]] = {}
        await self._look_at_new_slots()

    async def _look_at_new_slots(self) -> None:
        for slot in self._lent.slots:
            if slot.name not in self._sweeps:
                await self._next_run(slot)
                self._sweeps[slot.name] = sweep = SlotSweep(slot)
                self._before[slot.name] = sweep.look()

    async def _next_run(self, slot: Slot) -> str:
        wrong, like = await canary(slot, self._canary, LIMITS, next(self._numbers))
        first = self._like.setdefault(slot.name, like)
        differ = [f"{k}: {like.get(k)} was {v}" for k, v in first.items() if like.get(k) != v]
        return wrong or (f"the next run differs: {'; '.join(differ)}" if differ else "")

    # ------------------------------------------------------------ one attack

    async def attack(self, attack: Attack) -> Finding:
        """Run it as often as it says, compare, sweep, and use the slot again."""
        began = time.monotonic()
        missing = tuple(name for name in attack.guarantees if name in self._missing)
        base = Finding(attack.key, attack.id, attack.title, self.backend, attack.guarantees)
        if attack.kind is Kind.NONE:
            return base.replace(mark=Mark.NOT_A_PROGRAM, detail=attack.note)
        if self._lacks(attack):
            return base.replace(mark=Mark.NO_TOOLCHAIN, detail=f"no {attack.language} here")
        problems: list[str] = []
        seen: Observation | None = None
        try:
            async with lured(attack) as stdin:
                for number in range(attack.runs):
                    seen = await observe(self._engine, self.slot, attack, stdin)
                    which = f"run {number + 1}: " if attack.runs > 1 else ""
                    problems += [which + text for text in differences(attack, seen)]
        except VerifierError as e:
            problems.append(f"{type(e).__name__}: {e}")
        left = await self._sweep()
        mark = Mark.HELD
        if left or (problems and not missing):
            mark = Mark.FAILED
        elif missing:
            mark = Mark.NOT_GUARANTEED
        return base.replace(
            mark=mark,
            detail=_detail(seen, missing, problems),
            problems=tuple(problems),
            left=tuple(sorted(left)),
            runs=attack.runs,
            seconds=time.monotonic() - began,
            cpu_time_s=seen.cpu_time_s if seen else 0.0,
            printed=seen.stdout[:PRINTED_BYTES].decode("utf-8", "backslashreplace") if seen else "",
        )

    def _lacks(self, attack: Attack) -> bool:
        name = languages.get(attack.language).name
        return bool(self._toolchains) and name not in self._toolchains

    async def check(self, check: conformance.Check) -> Finding:
        """One check of the conformance suite, swept like an attack."""
        began = time.monotonic()
        missing = tuple(name for name in check.guarantees if name in self._missing)
        problem = ""
        try:
            problem = await conformance.run_check(self.slot, check)
        except VerifierError as e:
            problem = f"{type(e).__name__}: {e}"
        left = await self._sweep()
        mark = Mark.HELD
        if left or (problem and not missing):
            mark = Mark.FAILED
        elif missing:
            mark = Mark.NOT_GUARANTEED
        return Finding(
            f"conformance/{check.name}",
            "",
            check.name,
            self.backend,
            check.guarantees or ("verdict",),
            mark=mark,
            problems=(problem,) if problem else (),
            left=tuple(sorted(left)),
            runs=len(check.inputs),
            seconds=time.monotonic() - began,
        )

    # ------------------------------------------------------------ after it

    async def _sweep(self) -> set[str]:
        """What is left; slots that were lost are replaced."""
        left: set[str] = set()
        table = processes()
        for slot in list(self._lent.slots):
            if not slot.healthy:
                left.add(f"the slot {slot.name} was lost")
                self._lent.slots.remove(slot)
                continue
            sweep = self._sweeps.get(slot.name)
            if sweep is None:
                continue
            if sweep.processes(table):
                left |= await settled(sweep.processes)
            try:
                wrong = await self._next_run(slot)
            except VerifierError as e:
                wrong = f"the slot {slot.name} did not run again: {e}"
            if wrong:
                left.add(wrong)
            before = self._before[slot.name]
            left |= await settled(lambda sweep=sweep, before=before: sweep.look() - before)  # type: ignore[misc]
            left |= sweep.grown()
        if any("was lost" in text or "did not run" in text for text in left):
            await self._restart()
        else:
            await self._look_at_new_slots()
        return left

    async def _restart(self) -> None:
        """A slot was lost: the pool opens another; look at that one from now on."""
        await self._engine.close()
        self._lent.slots.clear()
        await self.start()


def _detail(seen: Observation | None, missing: tuple[str, ...], problems: list[str]) -> str:
    if seen is None:
        return ""
    if missing:
        how = "not seen to be held" if problems else "held all the same"
        return f"{', '.join(missing)} is missing here: {how}"
    last = plain_text(seen.stdout.strip()[-60:])
    return f"{seen.status}" + (f": {last}" if last else "")


async def settled(look: Callable[[], frozenset[str]]) -> frozenset[str]:
    """What stays: nothing, as soon as a look finds nothing.

    What the kernel is still taking apart (a zombie about to be waited for, say) is waited for. The
    last look begins when the time is over, so what it finds was there all along, or came since:
    either way it is left, a zombie too.
    """
    deadline = time.monotonic() + SETTLE_S
    for number in itertools.count(1):
        over = number >= SETTLE_LOOKS and time.monotonic() > deadline
        left = look()
        if over or not left:
            return left
        await asyncio.sleep(0.02)
    raise AssertionError  # the count has no end


@contextlib.asynccontextmanager
async def lured(attack: Attack) -> AsyncIterator[bytes]:
    """The attack's standard input, and listeners on this host where it is to look for some."""
    if not attack.lure:
        yield attack.stdin if not attack.stdin_bytes else b"y" * attack.stdin_bytes
        return
    with contextlib.ExitStack() as stack:
        yield lures(stack)


def lures(stack: contextlib.ExitStack) -> bytes:
    """Listen on loopback and on an abstract address; what a program is told about it."""
    tcp = stack.enter_context(socket.socket())
    tcp.bind(("127.0.0.1", 0))
    tcp.listen(8)
    unix = stack.enter_context(socket.socket(socket.AF_UNIX))
    name = f"vstress-{os.getpid()}-{tcp.getsockname()[1]}"
    unix.bind("\0" + name)
    unix.listen(8)
    return f"{tcp.getsockname()[1]}\n{name}\n".encode()


# ---------------------------------------------------------------- all of them


async def run_all(
    sandbox: Sandbox,
    attacks: Sequence[Attack],
    checks: Sequence[conformance.Check] = (),
    *,
    slots: int,
    started: Callable[[str], None] = lambda _: None,
    finished: Callable[[Finding], None] = lambda _: None,
) -> tuple[list[Finding], Scope]:
    """Every attack and check once, on `slots` arenas.

    Args:
        sandbox: Started.
        attacks: From the catalogue.
        checks: Of the conformance suite.
        slots: Attacks that run at once.
        started: Told the key of each.
        finished: Told what was found of each.
    """
    work: Iterator[Attack | conformance.Check] = iter([*checks, *attacks])
    arenas = [Arena(sandbox) for _ in range(slots)]
    findings: list[Finding] = []
    scope = Scope((), ())

    async def serve(arena: Arena) -> None:
        for item in work:
            if isinstance(item, Attack):
                started(item.key)
                finding = await arena.attack(item)
            else:
                started(f"conformance/{item.name}")
                finding = await arena.check(item)
            findings.append(finding)
            finished(finding)

    try:
        for arena in arenas:
            await arena.start()
        scope = arenas[0].scope()
        service = ServiceSweep()
        await asyncio.gather(*(serve(arena) for arena in arenas))
        pool = SERVICE_FD_SLACK if sandbox.name == "docker" else 0
        grown = await settled(lambda: service.grown(pool))
    finally:
        for arena in arenas:
            with contextlib.suppress(AttributeError):
                await arena.close()
    last = Finding(
        "service",
        "",
        "descriptors and memory of this process are what they were",
        sandbox.name,
        ("no_leftovers",),
        mark=Mark.FAILED if grown else Mark.HELD,
        left=tuple(sorted(grown)),
    )
    finished(last)
    return [*findings, last], scope
