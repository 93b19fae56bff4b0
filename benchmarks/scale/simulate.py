"""Clients, hosts and the network between them, event by event.

    client: waits for a place among `max_in_flight` -> chooses a host -> its own link sends the
            suite where it has to, one after the other -> host: waits for a slot -> runs -> answer

A host takes requests in the order in which they and their suites arrived, one slot for each. It
fails after an exponential time, with all that it had: what waited, what ran, its suites. Clients go
on sending to it until they notice; then all that they had there is sent again, and it is given work
again once it is back, empty. So a response may be run twice and is answered once.

Events are simpy's timeouts with callbacks, not processes: a response is two or three of them.
"""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import simpy

from benchmarks.scale.policies import POLICIES, UPLOAD_ABOVE_BYTES, Lane, Policy
from benchmarks.scale.work import MB, Job, Suite


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the work runs on. Its network and its failures are assumptions.

    Attributes:
        hosts: How many.
        slots: Of each; 2 is what was measured.
        clients: Processes that send.
        max_in_flight: Of each client; None: two for each slot, 128 at least.
        link_bytes_per_s: What one client can send.
        cache_bytes: Suites that a host keeps (`suite_store_disk_bytes`).
        fails_every_s: Mean time to a host's failure; None: never.
        noticed_s: From a failure to its clients' knowing of it.
        back_s: From a failure to the host's being there again, empty; not below `noticed_s`.
    """

    hosts: int
    slots: int = 2
    clients: int = 16
    max_in_flight: int | None = None
    link_bytes_per_s: float = 1250 * MB
    cache_bytes: int = 4 << 30
    fails_every_s: float | None = None
    noticed_s: float = 30.0
    back_s: float = 120.0

    @property
    def window(self) -> int:
        """What one client has in flight at most."""
        if self.max_in_flight is not None:
            return self.max_in_flight
        return max(128, -(-2 * self.hosts * self.slots // self.clients))


@dataclass(slots=True)
class Outcome:
    """What became of the jobs.

    Attributes:
        response_s: From when each was due to its answer, in the order of the answers.
        answers: How often each was answered, in the order of the jobs.
        waited_s: Of what was answered, from its arrival at its host to its slot, in all.
        makespan_s: Until the last answer.
        sent_bytes: Of suites.
        busy_s: Slot seconds that were used, lost ones included.
        lost_s: Slot seconds of runs that a failure ended.
        sent_again: Requests for a response that had been sent before.
        failures: Of hosts.
    """

    answers: list[int]
    response_s: list[float] = field(default_factory=list)
    waited_s: float = 0.0
    makespan_s: float = 0.0
    sent_bytes: int = 0
    busy_s: float = 0.0
    lost_s: float = 0.0
    sent_again: int = 0
    failures: int = 0


@dataclass(slots=True)
class _Host:
    number: int
    free: int
    life: int = 0
    up: bool = True
    queue: deque[tuple[int, float]] = field(default_factory=deque)
    # The start of each run, and which requests clients have here.
    running: dict[int, float] = field(default_factory=dict)
    held: dict[int, None] = field(default_factory=dict)
    # Which suites are here or under way, the least recently used first.
    suites: OrderedDict[int, _Upload] = field(default_factory=OrderedDict)
    suites_bytes: int = 0


@dataclass(slots=True)
class _Upload:
    host: _Host
    life: int
    size_bytes: int
    waiting: list[int]
    done: bool = False

    @property
    def wanted(self) -> bool:
        """Its host is still the one that it was meant for."""
        return self.host.up and self.host.life == self.life


@dataclass(slots=True)
class _Client:
    policy: Policy
    lanes: list[Lane]
    waiting: deque[int] = field(default_factory=deque)
    # What its link has to send, one after the other.
    link: deque[_Upload] = field(default_factory=deque)
    sending: bool = False


class Simulation:
    """One run; `run` may be called once."""

    def __init__(self, cluster: Cluster, jobs: Sequence[Job], policy: str, seed: int) -> None:
        """Nothing has happened yet; `policy` is a name of `POLICIES`."""
        self.cluster, self.jobs = cluster, jobs
        self.env = simpy.Environment()
        self.outcome = Outcome([0] * len(jobs))
        self._rng = random.Random(seed)  # noqa: S311 - a simulation
        self._hosts = [_Host(number, cluster.slots) for number in range(cluster.hosts)]
        self._left = len(jobs)
        self._clients = []
        for number in range(cluster.clients):
            lanes = [Lane(host) for host in range(cluster.hosts)]
            made = POLICIES[policy](lanes, seed * 1_000_003 + number)
            self._clients.append(_Client(made, lanes))

    def run(self) -> Outcome:
        """Until each job is answered."""
        self.env.process(self._arrivals())
        if self.cluster.fails_every_s is not None:
            for host in self._hosts:
                self._plan_failure(host)
        while self._left:
            self.env.step()
        self.outcome.makespan_s = self.env.now
        return self.outcome

    def _after(self, seconds: float, call: Callable[[], None]) -> None:
        def ring(_: simpy.Event) -> None:
            call()

        timeout = self.env.timeout(seconds)
        assert timeout.callbacks is not None
        timeout.callbacks.append(ring)

    def _arrivals(self) -> Any:
        for number, job in enumerate(self.jobs):
            if job.due_s > self.env.now:
                yield self.env.timeout(job.due_s - self.env.now)
            client = self._clients[job.client]
            client.waiting.append(number)
            self._send(client)

    # ------------------------------------------------------------ clients

    def _send(self, client: _Client) -> None:
        """What there is a place and a host for."""
        policy = client.policy
        while client.waiting and policy.total < self.cluster.window and policy.usable:
            number = client.waiting.popleft()
            suite = self.jobs[number].suite
            lane = policy.choose(suite)
            policy.add(lane, 1)
            host = self._hosts[lane.host]
            host.held[number] = None
            if suite is None:
                self._arrive(host, number)
            else:
                self._bring(client, host, suite, number)

    def _bring(self, client: _Client, host: _Host, suite: Suite, number: int) -> None:
        """The request is at the host when its suite is."""
        kept = suite.size_bytes > UPLOAD_ABOVE_BYTES
        if kept and suite.number in host.suites:
            host.suites.move_to_end(suite.number)
            upload = host.suites[suite.number]
            if upload.done:
                self._arrive(host, number)
            else:
                upload.waiting.append(number)
            return
        upload = _Upload(host, host.life, suite.size_bytes, [number])
        if kept:
            host.suites[suite.number] = upload
            host.suites_bytes += suite.size_bytes
            while host.suites_bytes > self.cluster.cache_bytes and len(host.suites) > 1:
                host.suites_bytes -= host.suites.popitem(last=False)[1].size_bytes
        client.link.append(upload)
        if not client.sending:
            self._next_upload(client)

    def _next_upload(self, client: _Client) -> None:
        client.sending = False
        while client.link:
            upload = client.link.popleft()
            if upload.wanted:
                client.sending = True
                self.outcome.sent_bytes += upload.size_bytes
                seconds = upload.size_bytes / self.cluster.link_bytes_per_s
                self._after(seconds, partial(self._uploaded, client, upload))
                return

    def _uploaded(self, client: _Client, upload: _Upload) -> None:
        upload.done = True
        if upload.wanted:
            for number in upload.waiting:
                self._arrive(upload.host, number)
        self._next_upload(client)

    # ------------------------------------------------------------ hosts

    def _arrive(self, host: _Host, number: int) -> None:
        if host.up:
            host.queue.append((number, self.env.now))
            self._start(host)

    def _start(self, host: _Host) -> None:
        while host.free and host.queue:
            number, since_s = host.queue.popleft()
            host.free -= 1
            host.running[number] = self.env.now
            end = partial(self._end, host, host.life, number, self.env.now - since_s)
            self._after(self.jobs[number].slot_s, end)

    def _end(self, host: _Host, life: int, number: int, waited_s: float) -> None:
        if host.life != life:
            return
        job, outcome = self.jobs[number], self.outcome
        del host.running[number], host.held[number]
        host.free += 1
        outcome.answers[number] += 1
        outcome.waited_s += waited_s
        outcome.busy_s += job.slot_s
        outcome.response_s.append(self.env.now - job.due_s)
        self._left -= 1
        client = self._clients[job.client]
        client.policy.add(client.lanes[host.number], -1)
        self._start(host)
        self._send(client)

    # ------------------------------------------------------------ failures

    def _plan_failure(self, host: _Host) -> None:
        assert self.cluster.fails_every_s is not None
        self._after(
            self._rng.expovariate(1 / self.cluster.fails_every_s), partial(self._fail, host)
        )

    def _fail(self, host: _Host) -> None:
        lost_s = sum(self.env.now - start_s for start_s in host.running.values())
        self.outcome.failures += 1
        self.outcome.lost_s += lost_s
        self.outcome.busy_s += lost_s
        host.up = False
        self._empty(host)
        self._after(self.cluster.noticed_s, partial(self._notice, host))
        self._after(self.cluster.back_s, partial(self._return, host))

    def _empty(self, host: _Host) -> None:
        """Nothing that is under way to it or runs there counts any more."""
        host.life += 1
        host.free = self.cluster.slots
        host.queue.clear()
        host.running.clear()
        host.suites.clear()
        host.suites_bytes = 0

    def _notice(self, host: _Host) -> None:
        self.outcome.sent_again += len(host.held)
        # What was sent first stands first again.
        for number in reversed(host.held):
            self._clients[self.jobs[number].client].waiting.appendleft(number)
        host.held.clear()
        for client in self._clients:
            lane = client.lanes[host.number]
            lane.usable = False
            client.policy.add(lane, -lane.in_flight)
            client.policy.looked()
        for client in self._clients:
            self._send(client)

    def _return(self, host: _Host) -> None:
        # What was sent to it while it was gone, and is still under way, was sent elsewhere by now.
        self._empty(host)
        host.up = True
        self._plan_failure(host)
        for client in self._clients:
            client.lanes[host.number].usable = True
            client.policy.looked()
            self._send(client)


def simulate(cluster: Cluster, jobs: Sequence[Job], policy: str, seed: int = 1) -> Outcome:
    """One run of these jobs, in the order in which they are due.

    Args:
        cluster: What they run on.
        jobs: At least one; ordered by `due_s`, their clients below the cluster's.
        policy: A name of `POLICIES`.
        seed: Of ties, draws and failures.

    Raises:
        ValueError: A host would be back before its clients notice that it was gone.
    """
    if cluster.back_s < cluster.noticed_s:
        raise ValueError("back_s is below noticed_s: clients notice first")
    return Simulation(cluster, jobs, policy, seed).run()
