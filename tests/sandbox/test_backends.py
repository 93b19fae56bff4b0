"""Every real backend, against the conformance suite, and looked at from outside while it runs."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from verifier.errors import SlotError
from verifier.runner.agent import jobs
from verifier.sandbox import conformance, owner
from verifier.sandbox.base import CompileJob, RunJob
from verifier.sandbox.namespaces import cgroup
from verifier.sandbox.runner_slot import ToolchainMissingError
from verifier.types import Harness, Killer, Limits

ROOT = Path(__file__).resolve().parents[2]


@contextlib.asynccontextmanager
async def one_slot(sandbox):
    slot = None
    try:
        await sandbox.start()
        slot = await sandbox.open_slot()
        yield slot
    finally:
        if slot is not None:
            await slot.close()
        await sandbox.close()


def processes_of(sandbox) -> dict[int, str]:
    """Every process that belongs to this sandbox's slots, as the host sees them."""
    if sandbox.name == "docker":
        import docker

        client = docker.from_env()
        try:
            found = client.api.containers(filters={"label": f"verifier.run={sandbox.run_id}"})
            pids = [int(row[1]) for c in found for row in client.api.top(c["Id"])["Processes"]]
        finally:
            client.close()
    else:
        tops = [psutil.Process(slot.pid) for slot in sandbox._slots]
        pids = [p.pid for top in tops for p in (top, *top.children(recursive=True))]
    states = {}
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            states[pid] = psutil.Process(pid).status()
    return states


async def compiled(slot, source: str, harness=Harness.PYTHON):
    facts = await slot.compile(
        CompileJob(harness, {"main.py": source.encode()}, (), (), conformance.LIMITS)
    )
    assert facts.ok, facts.message
    return facts.artifact


async def outputs(slot, source: str, inputs=(b"",), limits=conformance.LIMITS):
    job = RunJob(Harness.PYTHON, await compiled(slot, source), (), inputs, limits)
    return [f async for f in slot.run(job)]


async def test_conformance(sandbox_of):
    async with one_slot(sandbox_of()) as slot:
        problems = [
            p for check in conformance.CHECKS if (p := await conformance.run_check(slot, check))
        ]
        assert slot.healthy
    assert problems == []


async def test_exec_mode_has_the_same_verdicts(sandbox_of):
    """A fresh interpreter per run instead of a fork of the warm one."""
    async with one_slot(sandbox_of(spawn_python=True)) as slot:
        problems = [
            p for check in conformance.CHECKS if (p := await conformance.run_check(slot, check))
        ]
    assert problems == []


HOSTILE = [c for c in conformance.CHECKS if c.hostile]


async def test_nothing_survives_an_attack(sandbox_of):
    """The slot's processes before and after each attack: keeper, runner and zygote alone."""
    sandbox = sandbox_of()
    async with one_slot(sandbox) as slot:
        await outputs(slot, "print('warm')")
        before = processes_of(sandbox)
        assert len(before) == 3
        for check in HOSTILE:
            assert await conformance.run_check(slot, check) == ""
            assert processes_of(sandbox).keys() == before.keys(), check.name
            clean = await outputs(slot, "print(6 * 7)")
            assert clean[0].stdout == b"42\n", check.name


async def test_the_kernels_cpu_limit_comes_after_ours(sandbox_of):
    """It counts ticks, which run ahead of the CPU time that decides: SIGXCPU is no verdict."""
    source = "import resource\nprint(resource.getrlimit(resource.RLIMIT_CPU)[0])"
    limits = Limits(cpu_time_s=10, wall_time_s=21)
    async with one_slot(sandbox_of()) as slot:
        (facts,) = await outputs(slot, source, limits=limits)
        assert int(facts.stdout) >= 2 * limits.cpu_time_s


async def test_compiled_language(sandbox_of, backend):
    source = (
        b"#include <cstdio>\nint main(){long long a,b; "
        b'if(scanf("%lld %lld",&a,&b)!=2) return 3; printf("%lld\\n",a+b);}'
    )
    limits = Limits(cpu_time_s=20, wall_time_s=60, memory_bytes=512 << 20)
    async with one_slot(sandbox_of()) as slot:
        try:
            facts = await slot.compile(
                CompileJob(
                    Harness.EXEC,
                    {"main.cpp": source},
                    ("g++", "-O1", "-o", "main", "main.cpp"),
                    ("main",),
                    limits,
                )
            )
        except ToolchainMissingError as e:
            pytest.skip(str(e))
        assert facts.ok, facts.message
        job = RunJob(
            Harness.EXEC,
            facts.artifact,
            ("/program/main",),
            (b"2 3", b"4 5", b"x"),
            conformance.LIMITS,
        )
        got = [(f.stdout, f.exit_code) async for f in slot.run(job)]
        assert got == [(b"5\n", 0), (b"9\n", 0), (b"", 3)]


async def test_compile_error_and_hostile_compile(sandbox_of):
    limits = Limits(cpu_time_s=5, wall_time_s=15, memory_bytes=512 << 20, output_bytes=1 << 20)
    argv = ("g++", "-fmax-errors=3", "-o", "main", "main.cpp")
    async with one_slot(sandbox_of()) as slot:
        for source in (
            b"int main( {",
            b'#include "/etc/shadow"\nint main(){}',
            b'#include "/dev/zero"\n',
            b"",
        ):
            try:
                facts = await slot.compile(
                    CompileJob(Harness.EXEC, {"main.cpp": source}, argv, ("main",), limits)
                )
            except ToolchainMissingError as e:
                pytest.skip(str(e))
            assert not facts.ok
            assert b"root:" not in facts.facts.stderr
            assert slot.healthy
        # Links, pipes and folders where the artifact should be are not fetched, and leave nothing.
        shell = ("sh", "main.sh")
        script = (
            b"ln -s /etc/passwd a.out; mkfifo b.out; mkdir c.out; chmod 000 c.out; ln -s / d; "
            b"truncate -s 100G e.out"
        )
        facts = await slot.compile(
            CompileJob(Harness.EXEC, {"main.sh": script}, shell, ("*.out",), limits)
        )
        assert not facts.ok
        facts = await slot.compile(
            CompileJob(Harness.EXEC, {"main.sh": b"ls -A > x.out"}, shell, ("*.out",), limits)
        )
        assert [(n, bytes(d)) for n, _, d in jobs.unpack(memoryview(facts.artifact))] == [
            ("x.out", b"main.sh\nx.out\n")
        ]


async def test_missing_interpreter_is_not_the_programs_fault(sandbox_of):
    async with one_slot(sandbox_of()) as slot:
        with pytest.raises(SlotError, match="no /usr/bin/no-such"):
            async for _ in slot.run(
                RunJob(Harness.EXEC, b"", ("/usr/bin/no-such",), (b"",), conformance.LIMITS)
            ):
                pass


async def test_cancel_kills_the_run_and_leaves_the_slot_clean(sandbox_of):
    limits = Limits(cpu_time_s=30, wall_time_s=60)
    async with one_slot(sandbox_of()) as slot:
        artifact = await compiled(
            slot, "import time\nprint(input(), flush=True)\nif input() == 'hang': time.sleep(100)"
        )
        job = RunJob(Harness.PYTHON, artifact, (), (b"a\ngo", b"b\nhang", b"c\ngo"), limits)
        async with contextlib.aclosing(slot.run(job)) as runs:
            async for facts in runs:
                assert facts.stdout == b"a\n"
                break
        assert slot.healthy
        assert [
            f.stdout
            async for f in slot.run(RunJob(Harness.PYTHON, artifact, (), (b"d\ngo",), limits))
        ] == [b"d\n"]


def test_a_killed_supervisor_leaves_nothing(sandbox_of, backend, tmp_path):
    """kill -9 of the process that holds the slots, in the middle of a run."""
    script = tmp_path / "holder.py"
    script.write_text(
        f"""
import asyncio, sys
sys.path.insert(0, {str(ROOT)!r})
from verifier.engine import make_sandbox
from verifier.sandbox.base import CompileJob, RunJob
from verifier.types import Harness, Limits
async def main():
    accept = ("memory_limit", "cpu_accounting")
    sandbox = make_sandbox({backend!r}, image={sandbox_of.keywords["image"]!r}, accept=accept)
    await sandbox.start()
    slot = await sandbox.open_slot()
    limits = Limits(cpu_time_s=60, wall_time_s=90)
    files = {{"main.py": b"print('up', flush=True)\\nwhile True: pass"}}
    c = await slot.compile(CompileJob(Harness.PYTHON, files, (), (), limits))
    print("running", flush=True)
    async for _ in slot.run(RunJob(Harness.PYTHON, c.artifact, (), (b"",), limits)): pass
asyncio.run(main())
"""
    )
    holder = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"running\n"
        mine = _slot_processes(holder.pid, backend)
        assert len(mine) >= 3
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    _, left = psutil.wait_procs(mine, timeout=10)
    assert left == []


def _slot_processes(holder: int, backend: str) -> list[psutil.Process]:
    """Processes of another process's slots; psutil tells a recycled pid by its start time."""
    if backend == "namespaces":
        return psutil.Process(holder).children(recursive=True)
    import docker

    client = docker.from_env()
    try:
        found = [
            c
            for c in client.api.containers()
            if c["Labels"].get("verifier.run", "").startswith(f"{holder}-")
        ]
        return [
            psutil.Process(int(row[1]))
            for c in found
            for row in client.api.top(c["Id"])["Processes"]
        ]
    finally:
        client.close()


def _dead_cgroups() -> list[Path]:
    """Where a start looks: below this process's own groups, not in somebody else's."""
    layout = cgroup.detect()
    parents = {*layout.v1.values(), *([layout.v2] if layout.v2 else [])}
    found = [p for parent in parents for p in parent.glob("verifier-*") if p.is_dir()]
    return [p for p in found if not owner.is_alive(p.name.removeprefix("verifier-"))]


async def test_start_sweeps_what_a_dead_one_left(sandbox_of, backend):
    """After the kill above: cgroups that the kernel kept, or folders that no engine removes."""
    left = _dead_cgroups()
    if backend == "docker":
        left = [Path(tempfile.mkdtemp(prefix=f"verifier-{2**31 - 1}-1-boot-0-"))]
    alive = Path(tempfile.mkdtemp(prefix=f"verifier-{owner.new_run_id()}-"))
    sandbox = sandbox_of()
    try:
        await sandbox.start()
        assert [p for p in left if p.exists()] == []
        assert alive.is_dir()
    finally:
        await sandbox.close()
        alive.rmdir()


@pytest.mark.parametrize(
    "backend", [pytest.param("docker", marks=pytest.mark.docker)], indirect=True
)
async def test_containers_have_the_hardening(sandbox_of):
    """What the engine says of a running container, not what we asked for."""
    import docker

    sandbox = sandbox_of()
    client = docker.from_env()
    try:
        async with one_slot(sandbox) as slot:
            await outputs(slot, "print(1)")
            (found,) = client.api.containers(filters={"label": f"verifier.run={sandbox.run_id}"})
            data = client.api.inspect_container(found["Id"])
            host = data["HostConfig"]
            assert host["NetworkMode"] == "none"
            assert host["ReadonlyRootfs"] is True
            assert host["CapDrop"] == ["ALL"]
            assert not host["CapAdd"]
            assert host["Privileged"] is False
            options = dict(
                o.split("=", 1) if "=" in o else o.split(":", 1) for o in host["SecurityOpt"]
            )
            assert options["no-new-privileges"] == "true"
            assert json.loads(options["seccomp"])["defaultAction"] == "SCMP_ACT_ERRNO"
            assert 0 < host["PidsLimit"] <= 2000
            assert host["Memory"] == host["MemorySwap"] > 0
            assert host["NanoCpus"] > 0
            assert host["LogConfig"]["Type"] == "none"
            assert host["AutoRemove"] is True
            assert data["Config"]["User"] == "65532:65532"
            assert all(
                m["RW"] is False for m in data["Mounts"] if m["Destination"] != "/verifier/run"
            )
            assert not any("docker.sock" in m["Source"] for m in data["Mounts"])
            assert data["Config"]["Labels"]["verifier.run"] == sandbox.run_id
        assert (
            client.api.containers(all=True, filters={"label": f"verifier.run={sandbox.run_id}"})
            == []
        )
    finally:
        client.close()


async def test_memory_follows_the_job(sandbox_of):
    """The same slot, a low limit and then a high one: the limit is each job's own."""
    source = "x = bytearray(b'x') * (200 << 20); print(len(x))"
    async with one_slot(sandbox_of()) as slot:
        low = await outputs(
            slot, source, limits=Limits(cpu_time_s=5, wall_time_s=10, memory_bytes=64 << 20)
        )
        high = await outputs(
            slot, source, limits=Limits(cpu_time_s=5, wall_time_s=10, memory_bytes=512 << 20)
        )
        assert low[0].oom_kills > 0 or low[0].killer is Killer.MEMORY
        assert high[0].stdout == b"209715200\n"
        assert high[0].memory_bytes > 190 << 20
