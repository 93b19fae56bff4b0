"""What one container is created with. A test reads it back from the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verifier.languages import RECIPES
from verifier.limits import MAX_LIMITS

LABEL_RUN = "verifier.run"
LABEL_SLOT = "verifier.slot"
UID = 65532
INSIDE = "/verifier"
SECCOMP = Path(__file__).parent / "seccomp.json"
# The runner, the zygote and its init need some of a container's share.
OWN_PROCESSES = 64
# What a request may ask for, and the threads that a runtime starts for itself.
MAX_PROCESSES = MAX_LIMITS.processes + max(r.extra_processes for r in RECIPES.values())
START_MEMORY_BYTES = 512 * 1024 * 1024


def host_config(
    api: Any,
    *,
    library: Path,
    zipapp: Path,
    socket_folder: Path,
    cpus: float,
    runtime: str | None = None,
) -> dict[str, Any]:
    """The engine's host configuration: nothing is granted that the runner does not need.

    /proc is left unmasked, because the kernel lets a user namespace mount a fresh /proc only where
    a whole one can be seen; no program ever sees this one. Logs are off: programs' output never
    goes through it.
    """
    config: dict[str, Any] = api.create_host_config(
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true", "seccomp=" + SECCOMP.read_text()],
        pids_limit=MAX_PROCESSES + OWN_PROCESSES,
        mem_limit=START_MEMORY_BYTES,
        memswap_limit=START_MEMORY_BYTES,
        nano_cpus=int(min(cpus, api.info().get("NCPU", cpus)) * 1e9),
        auto_remove=True,
        runtime=runtime,
        ipc_mode="private",
        cgroupns="private" if api.info().get("CgroupVersion") == "2" else None,
        log_config={"type": "none", "config": {}},
        ulimits=[
            {"Name": "core", "Soft": 1, "Hard": 1},  # see jail.c: it stops a host's handler too
            {"Name": "stack", "Soft": 512 * 1024 * 1024, "Hard": -1},
            {"Name": "nofile", "Soft": 4096, "Hard": 4096},
        ],
        mounts=[
            {
                "Type": "bind",
                "Source": str(library),
                "Target": f"{INSIDE}/libjail.so",
                "ReadOnly": True,
            },
            {
                "Type": "bind",
                "Source": str(zipapp),
                "Target": f"{INSIDE}/runner.pyz",
                "ReadOnly": True,
            },
            {
                "Type": "bind",
                "Source": str(socket_folder),
                "Target": f"{INSIDE}/run",
                "ReadOnly": False,
            },
        ],
    )
    config["MaskedPaths"] = []
    config["ReadonlyPaths"] = []
    return config


def command() -> list[str]:
    """The agent, serving one supervisor on a socket in the shared folder."""
    return [
        "/usr/bin/python3",
        "-s",
        "-X",
        "int_max_str_digits=0",
        f"{INSIDE}/runner.pyz",
        "--lib",
        f"{INSIDE}/libjail.so",
        "--listen",
        f"{INSIDE}/run/s",
    ]
