"""The `docker` backend: each slot is a warm container in which the same runner serves.

The gateway and the runner talk over a unix socket in a folder that both see. A container holds one
runner and ends with it, and the runner ends when its supervisor closes the socket, so a gateway
that is killed leaves no container running; what the engine kept is removed at the next start, by
label, and so are the folders, by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from verifier.errors import BackendError, ConfigError, SlotError
from verifier.runner.build import jail_library, runner_zipapp
from verifier.sandbox import owner
from verifier.sandbox.base import Guarantee, GuaranteeName
from verifier.sandbox.docker import container as spec
from verifier.sandbox.docker.slot import DockerSlot
from verifier.sandbox.namespaces.backend import ENVIRONMENT
from verifier.sandbox.runner_slot import RunnerSlot
from verifier.sandbox.warm import WarmSandbox

DEFAULT_ENGINE = "unix:///var/run/docker.sock"
DEFAULT_IMAGE = "verifier-sandbox:latest"
START_S = 60.0
ENGINE_TIMEOUT_S = 60
WORKERS = 4
PEER = struct.Struct("3i")  # struct ucred
FOLDER_NAME = re.compile(r"verifier-(?P<run_id>\d+-\d+-\w+-\d+)-\w+")
T = TypeVar("T")


class DockerSandbox(WarmSandbox):
    """See the module. `image` must have /usr/bin/python3; see docs/images.md."""

    name = "docker"

    def __init__(
        self,
        *,
        image: str | None = None,
        runtime: str | None = None,
        accept: Collection[str] = (),
        spawn_python: bool = False,
        cpus: float = 2.0,
    ) -> None:
        """`runtime` None is the engine's default; `cpus` bounds each container.

        For the rest see `WarmSandbox`.

        A quota of one core would stop the runner, which lives in the container, together with the
        program that used it up: the kill then comes late (a fork bomb overshot 0.5 s at 1 core).
        """
        super().__init__(accept, spawn_python=spawn_python)
        self.image = image or DEFAULT_IMAGE
        self.runtime = runtime
        self.run_id = owner.new_run_id()
        self._cpus = cpus
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="verifier-docker")
        self._client: Any = None
        self._folder: Path | None = None

    async def start(self) -> None:
        """See `Sandbox.start`."""
        await self._call(self._sweep)
        await super().start()

    def _host_guarantees(self, counters: frozenset[str]) -> list[Guarantee]:
        remedy = "let the engine mount the container's own cgroup (the default)"
        by = f" ({self.runtime})" if self.runtime else ""

        def one(name: GuaranteeName, how: str, instead: str, *, holds: bool) -> Guarantee:
            return Guarantee(name, holds, how if holds else instead, "" if holds else remedy)

        return [
            one(
                GuaranteeName.MEMORY_LIMIT,
                f"the container's memory cgroup{by}, with room for the output and the inputs",
                "the container's memory cgroup, whose kill counter cannot be read",
                holds="oom" in counters,
            ),
            one(
                GuaranteeName.CPU_ACCOUNTING,
                f"the container's cgroup counter{by}",
                "CPU time of living and waited-for processes is sampled",
                holds="cpu" in counters,
            ),
            Guarantee(
                GuaranteeName.PROCESS_LIMIT,
                holds=True,
                mechanism=f"RLIMIT_NPROC in the slot's user namespace, and --pids-limit{by}",
            ),
        ]

    async def close(self) -> None:
        """See `Sandbox.close`."""
        await asyncio.gather(*(slot.close() for slot in list(self._slots)), return_exceptions=True)
        self._spare = None
        if self._client is not None:
            with contextlib.suppress(Exception):
                await self._call(self._remove_ours)
            self._client.close()
            self._client = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._pool.shutdown(wait=False)

    # ------------------------------------------------------------ slots

    async def _open(self) -> DockerSlot:
        name = f"docker{self._number()}"
        created: dict[str, str] = {}
        slot: DockerSlot

        async def on_close() -> None:
            self._slots.discard(slot)
            if "id" in created:
                await self._call(lambda: self._remove(created["id"]))
            if self._folder is not None:
                shutil.rmtree(self._folder / name, ignore_errors=True)

        async def set_memory(limit_bytes: int) -> None:
            try:
                await self._call(
                    lambda: self._client.api.update_container(
                        created["id"], mem_limit=limit_bytes, memswap_limit=limit_bytes
                    )
                )
            except BackendError as e:
                raise SlotError(f"{name}: cannot set the memory limit: {e}") from e

        slot = DockerSlot(
            name, on_close=on_close, bound_memory=set_memory, spawn=self._spawn_python
        )
        self._slots.add(slot)
        try:
            path = await self._call(lambda: self._create(name, created))
            sock = await self._call(lambda: self._connect(path, created["id"]))
            # Whoever listens: the container's first process, 0 where this host has no number for it
            slot.pid = PEER.unpack(
                sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
            )[0]
            await slot.connect(sock, START_S)
        except SlotError as e:
            await slot.close()
            raise BackendError(f"the container's runner did not start: {e}") from e
        except BaseException:
            await slot.close()
            raise
        return slot

    async def _pin(self, slot: RunnerSlot, cpu: int) -> None:
        # An engine that cannot (no cpuset controller) leaves the container where it was.
        with contextlib.suppress(BackendError):
            await self._call(
                lambda: self._client.api.update_container(
                    f"verifier-{self.run_id}-{slot.name}", cpuset_cpus=str(cpu)
                )
            )

    def _create(self, name: str, created: dict[str, str]) -> Path:
        client = self._engine()
        if self._folder is None:
            # 0700, so nobody else on this host reaches the sockets below, which any uid may use.
            self._folder = Path(tempfile.mkdtemp(prefix=f"verifier-{self.run_id}-"))
        folder = self._folder / name
        folder.mkdir()
        folder.chmod(0o777)
        host = spec.host_config(
            client.api,
            library=jail_library(),
            zipapp=runner_zipapp(),
            socket_folder=folder,
            cpus=self._cpus,
            runtime=self.runtime,
        )
        environment = dict(ENVIRONMENT)
        if "OPENBLAS_CORETYPE" in os.environ:
            environment["OPENBLAS_CORETYPE"] = os.environ["OPENBLAS_CORETYPE"]
        answer = client.api.create_container(
            self.image,
            spec.command(),
            name=f"verifier-{self.run_id}-{name}",
            user=f"{spec.UID}:{spec.UID}",
            hostname="sandbox",
            environment=environment,
            host_config=host,
            entrypoint=[],
            working_dir="/",
            labels={spec.LABEL_RUN: self.run_id, spec.LABEL_SLOT: name},
            network_disabled=True,
        )
        created["id"] = answer["Id"]
        client.api.start(answer["Id"])
        return folder / "s"

    def _connect(self, path: Path, container: str) -> socket.socket:
        deadline = time.monotonic() + START_S
        while True:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.connect(str(path))
            except OSError:
                sock.close()
            else:
                return sock
            state = self._state(container)
            if state not in ("running", "created") or time.monotonic() > deadline:
                by = f", runtime {self.runtime}: see docs/runtimes.md" if self.runtime else ""
                raise BackendError(
                    f"the runner in image {self.image} did not come up (container {state}{by}); "
                    f"try: docker run --rm --entrypoint /usr/bin/python3 {self.image} --version"
                )
            time.sleep(0.005)

    def _state(self, container: str) -> str:
        with contextlib.suppress(Exception):
            return str(self._client.api.inspect_container(container)["State"]["Status"])
        return "gone"

    # ------------------------------------------------------------ the engine

    def _engine(self) -> Any:
        if self._client is not None:
            return self._client
        try:
            import docker  # a quarter of a second, and optional
            import docker.errors
        except ImportError as e:
            raise BackendError(
                "the docker backend needs: pip install 'sandbox-verifier[docker]'"
            ) from e
        try:
            _knock(os.environ.get("DOCKER_HOST") or DEFAULT_ENGINE)
            client = docker.from_env(timeout=ENGINE_TIMEOUT_S)
            client.ping()
        except PermissionError as e:
            raise BackendError(
                f"the Docker engine is not for this user ({e}); join its group, which makes one as "
                f"good as root (usermod -aG docker USER), or use --backend namespaces"
            ) from e
        except (docker.errors.DockerException, OSError) as e:
            raise BackendError(
                f"no Docker engine answers ({e}); start it, or use --backend namespaces"
            ) from e
        try:
            self._check_runtime(client.info())
            client.images.get(self.image)
        except docker.errors.ImageNotFound as e:
            client.close()
            raise BackendError(
                f"there is no image {self.image}; "
                f"build it with: sandbox_images/build --tag {self.image}"
            ) from e
        except BaseException:
            client.close()
            raise
        self._client = client
        return client

    def _check_runtime(self, info: Mapping[str, Any]) -> None:
        """An unknown runtime is said before anything is made, not by the first container."""
        known = sorted(info.get("Runtimes") or ())
        if self.runtime is not None and self.runtime not in known:
            raise ConfigError(
                f"runtime: this Docker engine has no {self.runtime!r}; it has: {', '.join(known)}. "
                f"Install one and register it: dockerd --add-runtime NAME=/usr/bin/PROGRAM"
            )

    def _sweep(self) -> None:
        """Remove containers and folders of verifiers that are gone."""
        client = self._engine()
        for found in client.api.containers(all=True, filters={"label": spec.LABEL_RUN}):
            if not owner.is_alive(found["Labels"][spec.LABEL_RUN]):
                self._remove(found["Id"])
        for folder in Path(tempfile.gettempdir()).glob("verifier-*"):
            name = FOLDER_NAME.fullmatch(folder.name)
            if name is not None and not owner.is_alive(name["run_id"]):
                shutil.rmtree(folder, ignore_errors=True)  # not those of others: no rights

    def _remove_ours(self) -> None:
        for found in self._client.api.containers(
            all=True, filters={"label": f"{spec.LABEL_RUN}={self.run_id}"}
        ):
            self._remove(found["Id"])

    def _remove(self, container: str) -> None:
        import docker.errors  # loaded by now

        # 404: it has removed itself; 409: it is being removed. Either way wait until it is gone.
        with contextlib.suppress(docker.errors.APIError):
            self._client.api.remove_container(container, force=True, v=True)
        deadline = time.monotonic() + START_S
        while self._state(container) != "gone" and time.monotonic() < deadline:
            time.sleep(0.01)

    async def _call(self, action: Callable[[], T]) -> T:
        """Run something of the (synchronous) SDK in a bounded pool of threads."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, action)
        except (BackendError, ConfigError, SlotError):
            raise
        except Exception as e:
            raise BackendError(f"the Docker engine refused: {e}") from e


def _knock(engine: str) -> None:
    """Is anybody there? The SDK leaves the socket of a failed connection open.

    Raises:
        OSError: Nobody is, or not for us.
    """
    if engine.startswith("unix://"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.connect(engine.removeprefix("unix://"))
