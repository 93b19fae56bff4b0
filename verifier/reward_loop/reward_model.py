"""A reward model's servers and the router in front of them.

Replicas are started from a command template, or were started by somebody else:

    reward.reward_model.command=[vllm,serve,"{model}","--task",classify,"--port","{port}"]
    reward.reward_model.addresses=[host1:8000,host2:8000]

`{model}`, `{host}`, `{port}` and `{replica}` are filled in. A replica is ready when its `/health`
answers. `wake_up` and `sleep` use the engine's own calls (vLLM's `/wake_up` and `/sleep`, SGLang's
memory calls); a server without them stays awake, and that is said once.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence

from verifier.errors import ConfigError, InfraError
from verifier.reward_loop.http import need_aiohttp
from verifier.rewards.settings import RewardModelSettings

_log = logging.getLogger("verifier.reward_loop")

_CALLS = {
    "vllm": {"sleep": "/sleep?level=1", "wake_up": "/wake_up"},
    "sglang": {"sleep": "/release_memory_occupation", "wake_up": "/resume_memory_occupation"},
}
_POLL_S = 0.1
_STOP_S = 10.0


class RewardModelManager:
    """Owns what it starts: `close` ends replicas and router with all their processes.

    Args:
        settings: See `verifier.rewards.settings.RewardModelSettings`.
        router: "own", or "sglang" for SGLang's (the package `sglang-router`).
        host: Where the servers it starts listen.
        start_timeout_s: Until a server has to be ready.
        deterministic: See `verifier.reward_loop.router.Balance`.

    Raises:
        ConfigError: A setting is wrong, or the router's package is absent.
        InfraError: A server did not become ready; has the end of its output.
    """

    def __init__(
        self,
        settings: RewardModelSettings,
        *,
        router: str = "own",
        host: str = "127.0.0.1",
        start_timeout_s: float = 600.0,
        deterministic: bool = False,
    ) -> None:
        if bool(settings.command) == bool(settings.addresses):
            raise ConfigError(
                "reward_model: give either command, a template that starts a replica, or addresses"
            )
        self._settings = settings
        self._host = host
        self._timeout_s = start_timeout_s
        self._no_calls: set[str] = set()
        self._processes: list[_Server] = []
        self.server_addresses: list[str] = list(settings.addresses)
        try:
            if settings.command:
                self._start_replicas()
            urls = [f"http://{address}" for address in self.server_addresses]
            self.router_address = self._start_router(urls, router, deterministic=deterministic)
        except BaseException:
            self.close()
            raise

    def get_router_address(self) -> str:
        """Where requests go, as HOST:PORT."""
        return self.router_address

    def wake_up(self) -> None:
        """Let every replica take its memory back.

        Raises:
            InfraError: One of them did not answer.
        """
        self._tell("wake_up")

    def sleep(self) -> None:
        """Let every replica give its memory back.

        Raises:
            InfraError: One of them did not answer.
        """
        self._tell("sleep")

    def close(self) -> None:
        """End what was started here."""
        while self._processes:
            self._processes.pop().stop()

    # ------------------------------------------------------------ inside

    def _start_replicas(self) -> None:
        started = []
        for replica in range(self._settings.num_replicas):
            port = free_port(self._host)
            words = {
                "model": self._settings.model_path or "",
                "host": self._host,
                "port": str(port),
                "replica": str(replica),
            }
            try:
                argv = [word.format(**words) for word in self._settings.command]
            except (KeyError, IndexError, ValueError) as error:
                raise ConfigError(
                    f"reward_model.command: {error!r} is not one of {sorted(words)}; "
                    "a literal brace is written twice"
                ) from error
            self._processes.append(_Server(argv))
            started.append((self._processes[-1], f"{self._host}:{port}"))
        for server, address in started:  # they load at the same time
            server.wait_ready(address, self._timeout_s)
            self.server_addresses.append(address)

    def _start_router(self, urls: Sequence[str], kind: str, *, deterministic: bool) -> str:
        if kind not in ("own", "sglang"):
            raise ConfigError(f"router={kind!r}; it is 'own' or 'sglang'")
        port = free_port(self._host)
        if kind == "sglang":
            if importlib.util.find_spec("sglang_router") is None:
                raise ConfigError("router='sglang' needs its package: pip install sglang-router")
            argv = [sys.executable, "-m", "sglang_router.launch_router", "--worker-urls", *urls]
        else:
            need_aiohttp()
            argv = [sys.executable, "-m", "verifier.reward_loop.router"]
            argv += [word for url in urls for word in ("--worker", url)]
            argv += ["--deterministic"] * deterministic
        server = _Server([*argv, "--host", self._host, "--port", str(port)])
        self._processes.append(server)
        server.wait_ready(f"{self._host}:{port}", self._timeout_s)
        return f"{self._host}:{port}"

    def _tell(self, what: str) -> None:
        path = _CALLS.get(self._settings.engine, {}).get(what)
        if path is None or self._settings.engine in self._no_calls:
            return
        for address in self.server_addresses:
            status = _status(f"http://{address}{path}", post=True, timeout_s=self._timeout_s)
            if status in (404, 405):
                self._no_calls.add(self._settings.engine)
                _log.warning(
                    "the reward model at %s has no %s: it stays awake (vLLM: start it with "
                    "--enable-sleep-mode and VLLM_SERVER_DEV_MODE=1)",
                    address,
                    path,
                )
                return
            if status != 200:
                raise InfraError(f"reward model at {address}: {what}: HTTP {status or 'no answer'}")


class _Server:
    """A process in a group of its own; the end of its output is kept for messages."""

    def __init__(self, argv: Sequence[str]) -> None:
        import tempfile

        self._argv = list(argv)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        try:
            self._process = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self._log.close()
            raise ConfigError(f"cannot start {argv[0]!r}: {error}") from error

    def wait_ready(self, address: str, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        while True:
            if _status(f"http://{address}/health", timeout_s=5.0) == 200:
                return
            code = self._process.poll()
            if code is not None:
                raise InfraError(f"{self._named()} ended with {code}: {self._said()}")
            if time.monotonic() > end:
                raise InfraError(
                    f"{self._named()} was not ready in {timeout_s:g} s: {self._said()}"
                )
            time.sleep(_POLL_S)

    def stop(self) -> None:
        try:
            for name in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(self._process.pid, name)
                except ProcessLookupError:
                    break
                try:
                    self._process.wait(_STOP_S)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            self._process.wait()
            self._log.close()

    def _named(self) -> str:
        return " ".join(self._argv[:4])

    def _said(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), 2000, max(0, size - 2000)).decode(errors="replace")


def free_port(host: str) -> int:
    """A port that was free a moment ago."""
    with socket.create_server((host, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _status(url: str, *, post: bool = False, timeout_s: float) -> int | None:
    request = urllib.request.Request(  # noqa: S310 - http by construction
        url,
        data=json.dumps({}).encode() if post else None,
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as response:  # noqa: S310 - the same
            status: int = response.status
            return status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return None
