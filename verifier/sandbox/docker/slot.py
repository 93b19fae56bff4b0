"""A container's slot: its memory bound leaves room for what the runner holds on a run's behalf.

The runner lives in the container, so the kernel bills its buffers together with the program: a
batch's inputs (once as the frame that brought them, once as the file that the program reads) and
the output that is kept until the run is over. Without room for them an honest program that writes
60 MB at a limit of 64 MiB would be killed for memory, or its runner would. The room is of the job's
own sizes, and the program can use what of it the runner does not: up to its output limit and twice
its inputs beyond its own limit. Where that matters, the `namespaces` backend gives the program a
cgroup without the runner.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from verifier.sandbox.base import CompileJob, RunJob
from verifier.sandbox.runner_slot import MIN_MEMORY_BYTES, RunnerSlot
from verifier.types import CompileFacts, Limits, RunFacts

# Setting a bound is a call to the engine (10 ms and more): one that is larger by no more than this
# is left as it is.
STEP_BYTES = 4 * 1024 * 1024


def headroom(job: RunJob | CompileJob, held_bytes: int) -> int:
    """Bytes beyond the program's limit that the runner may need beside a job.

    Args:
        job: What is about to be run.
        held_bytes: Size of the job before it, which the runner lets go of when this one has come.
    """
    return 2 * job_bytes(job) + job.limits.output_bytes + held_bytes


def job_bytes(job: RunJob | CompileJob) -> int:
    """Size of what is sent to the runner."""
    if isinstance(job, CompileJob):
        return sum(map(len, job.files.values()))
    extra = sum(len(one) + len(two) for one, two in job.extra)
    return len(job.artifact) + sum(map(len, job.inputs)) + extra


class DockerSlot(RunnerSlot):
    """See the module."""

    def __init__(
        self,
        name: str,
        *,
        on_close: Callable[[], Awaitable[None]],
        bound_memory: Callable[[int], Awaitable[None]],
        stopped: Callable[[], Awaitable[bool]] | None = None,
        held_back: Callable[[], bool] | None = None,
        spawn: bool = False,
    ) -> None:
        """`bound_memory` sets the container's bound, in bytes; for the rest see `RunnerSlot`."""
        super().__init__(name, on_close=on_close, stopped=stopped, held_back=held_back, spawn=spawn)
        self._bound_memory = bound_memory
        self._bound = 0
        self._room = 0
        self._held = 0

    async def compile(self, job: CompileJob) -> CompileFacts:
        """See `Slot.compile`."""
        self._make_room(job)
        return await super().compile(job)

    def run(self, job: RunJob) -> AsyncIterator[RunFacts]:
        """See `Slot.run`."""
        self._make_room(job)
        return super().run(job)

    def _make_room(self, job: RunJob | CompileJob) -> None:
        self._room = headroom(job, self._held)
        self._held = job_bytes(job)

    async def _prepare(self, limits: Limits) -> None:
        """Set the bound for the job that `_make_room` was told of.

        Raises:
            SlotError: The engine refuses.
        """
        least = max(limits.memory_bytes, MIN_MEMORY_BYTES) + self._room + self.ready["memory_base"]
        if least <= self._bound <= least + STEP_BYTES and limits.memory_bytes == self._memory_bytes:
            return
        try:
            await self._bound_memory(least)
        except BaseException:
            self._healthy = False  # a fresh one may take it
            raise
        self._bound, self._memory_bytes = least, limits.memory_bytes
