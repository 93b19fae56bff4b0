"""The `docker` backend: each slot is a warm container in which the same runner serves.

The gateway and the runner talk over a unix socket in a folder that both see. A container holds one
runner and ends with it, and the runner ends when its supervisor closes the socket, so a gateway
that is killed leaves no container running; what the engine kept is removed at the next start, by
label, and so are the folders, by name.

The engine may die and come back. Containers whose runner still answers go on; whatever needs the
engine meanwhile is a `BackendDownError`. The next container that can be made is the sign that it is
back: what could not be removed is removed then, by label.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from verifier.errors import BackendDownError, BackendError, ConfigError, SlotError
from verifier.runner.build import jail_library, runner_zipapp
from verifier.sandbox import owner
from verifier.sandbox.base import Guarantee, GuaranteeName
from verifier.sandbox.docker import container as spec
from verifier.sandbox.docker.slot import DockerSlot
from verifier.sandbox.namespaces.backend import ENVIRONMENT
from verifier.sandbox.runner_slot import RunnerSlot
from verifier.sandbox.warm import ForkFailures, WarmSandbox, any_stopped, processes_of

DEFAULT_ENGINE = "unix:///var/run/docker.sock"
DEFAULT_IMAGE = "verifier-sandbox:latest"
START_S = 60.0
REMOVE_S, REMOVE_AGAIN_S = 20.0, 0.5
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
        # Whether the engine may still have something of ours that we let go of.
        self._unswept = False
        self._sweeping: asyncio.Task[None] | None = None

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
        if self._sweeping is not None:
            await self._sweeping
        await asyncio.gather(*(slot.close() for slot in list(self._slots)), return_exceptions=True)
        self._spare = None
        if self._client is not None:
            with contextlib.suppress(Exception):
                await self._call(lambda: self._remove_ours(()))
            self._let_go()
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
            refusals.close()
            try:
                if "id" in created:
                    await self._call(lambda: self._remove(created["id"]))
            finally:
                if self._folder is not None:
                    shutil.rmtree(self._folder / name, ignore_errors=True)

        async def set_memory(limit_bytes: int) -> None:
            try:
                await self._call(
                    lambda: self._engine().api.update_container(
                        created["id"], mem_limit=limit_bytes, memswap_limit=limit_bytes
                    )
                )
            except BackendDownError:
                raise
            except BackendError as e:
                raise SlotError(f"{name}: cannot set the memory limit: {e}") from e

        async def stopped() -> bool:
            if any_stopped(own):
                return True
            with contextlib.suppress(BackendError):
                return await self._call(lambda: self._state(created["id"])) == "paused"
            return False

        # As far as this host has numbers for them: keeper, runner and zygote.
        own: list[int] = []
        refusals = ForkFailures()
        slot = DockerSlot(
            name,
            on_close=on_close,
            bound_memory=set_memory,
            stopped=stopped,
            held_back=refusals.met,
            spawn=self._spawn_python,
        )
        self._slots.add(slot)
        try:
            path = await self._call(lambda: self._create(name, created), again=False)
            sock = await self._call(lambda: self._connect(path, created["id"]))
            # Whoever listens: the container's first process, 0 where this host has no number for it
            slot.pid = PEER.unpack(
                sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
            )[0]
            await slot.connect(sock, START_S)
            if slot.pid:
                own += processes_of(slot.pid)
                refusals.watch(slot.pid)
            if self._unswept and (self._sweeping is None or self._sweeping.done()):
                self._unswept = False
                self._sweeping = asyncio.create_task(self._remove_lost())
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
                lambda: self._engine().api.update_container(
                    f"verifier-{self.run_id}-{slot.name}", cpuset_cpus=str(cpu)
                )
            )

    def _create(self, name: str, created: dict[str, str]) -> Path:
        client = self._engine()
        if self._folder is None:
            # 0700, so nobody else on this host reaches the sockets below, which any uid may use.
            self._folder = Path(tempfile.mkdtemp(prefix=f"verifier-{self.run_id}-"))
            # The engine sees this folder also where we are in a container ourselves.
            for source in (jail_library(), runner_zipapp()):
                shutil.copy(source, self._folder)
        folder = self._folder / name
        folder.mkdir()
        folder.chmod(0o777)
        host = spec.host_config(
            client.api,
            library=self._folder / jail_library().name,
            zipapp=self._folder / runner_zipapp().name,
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
            # An engine that starts again stops what ran: the first process of a container hears no
            # other signal, and there would be ten seconds of waiting for it.
            stop_signal="SIGKILL",
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
            _rest(0.005)

    def _state(self, container: str) -> str:
        with contextlib.suppress(Exception):
            return str(self._engine().api.inspect_container(container)["State"]["Status"])
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
            raise BackendDownError(
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

    def _remove_ours(self, but: Collection[str]) -> None:
        """Remove this backend's containers, but those of these slots."""
        for found in self._engine().api.containers(
            all=True, filters={"label": f"{spec.LABEL_RUN}={self.run_id}"}
        ):
            if found["Labels"].get(spec.LABEL_SLOT) not in but:
                self._remove(found["Id"])

    async def _remove_lost(self) -> None:
        """Remove what could not be removed when the engine was away."""
        with contextlib.suppress(BackendError):
            await self._call(lambda: self._remove_ours({slot.name for slot in list(self._slots)}))

    def _let_go(self) -> None:
        """Of the connections to the engine: the next call makes new ones."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _remove(self, container: str) -> None:
        import docker.errors  # loaded by now

        deadline = time.monotonic() + REMOVE_S
        again = 0.0
        while True:
            now = time.monotonic()
            if now >= again:
                # 404: it has removed itself; 409: it is being removed. Either way wait until it is
                # gone. 500: its files are in use for the moment, and nobody else tries again.
                again = now + REMOVE_AGAIN_S
                with contextlib.suppress(docker.errors.APIError):
                    self._engine().api.remove_container(container, force=True, v=True)
            if self._state(container) == "gone":
                return
            if now > deadline:
                self._unswept = True
                return
            _rest(0.01)

    async def _call(self, action: Callable[[], T], *, again: bool = True) -> T:
        """Run something of the (synchronous) SDK in a bounded pool of threads.

        Args:
            action: What.
            again: Try once more on new connections: the engine may have been restarted since the
                last call. Not for what must not be done twice.

        Raises:
            BackendDownError: The engine does not answer.
            BackendError: It says no.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, action)
        except BackendDownError:
            self._unswept = True
            raise
        except (BackendError, ConfigError, SlotError):
            raise
        except Exception as e:
            if _is_dead_connection(e):
                self._let_go()
                if again:
                    return await self._call(action, again=False)
                self._unswept = True
                raise BackendDownError(f"the Docker engine is gone: {e}") from e
            raise BackendError(f"the Docker engine refused: {e}") from e


def _knock(engine: str) -> None:
    """Is anybody there? The SDK leaves the socket of a failed connection open.

    Raises:
        OSError: Nobody is, or not for us.
    """
    if engine.startswith("unix://"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.connect(engine.removeprefix("unix://"))


def _rest(seconds: float) -> None:
    """A relative wait: an absolute one (`time.sleep`) fails where the clock is tampered with."""
    select.select((), (), (), seconds)


def _is_dead_connection(error: Exception) -> bool:
    """Whether it says that there was no answer; an engine's own error is an answer."""
    import requests.exceptions  # the SDK has loaded it

    kinds = (requests.exceptions.ConnectionError, requests.exceptions.Timeout, ConnectionError)
    return isinstance(error, kinds)
