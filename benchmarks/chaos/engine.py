"""A Docker engine of one's own, to be killed: nobody else's containers are on it.

Its image is made of this machine's own Python and C++ compiler: the files that the package manager
lists, in one archive (200 MB, 2 to 5 s; saving and loading an image of all toolchains takes ten
times as long).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import psutil

if TYPE_CHECKING:
    from typing_extensions import Self

IMAGE = "verifier-sandbox:chaos"
PACKAGES = ("python3-minimal", "libpython3-stdlib", "dash", "g++")
START_S, STARTS = 60.0, 3
# Neither documentation nor what a link-time optimizer and the sanitizers need.
LEFT_OUT = re.compile(r"^/usr/share/(doc|man|locale|info)/|/lto1$|/lib(a|l|t|ub)san[^/]*$")
ALIASES = ("bin", "sbin", "lib", "lib64")


def why_not() -> str:
    """Why there can be no engine of one's own here; "" where there can."""
    if os.geteuid() != 0:
        return "an engine of one's own needs root"
    missing = [name for name in ("dockerd", "dpkg", "apt-cache") if shutil.which(name) is None]
    return f"there is no {', '.join(missing)}" if missing else ""


class PrivateEngine:
    """See the module. `with PrivateEngine() as engine:`; all of it is removed on the way out.

    Attributes:
        host: What DOCKER_HOST has to be.
    """

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._folder = Path(tempfile.mkdtemp(prefix="chaos-engine-"))
        self.host = f"unix://{self._folder}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start it, and give it its image."""
        try:
            self.start()
            self._import()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it and remove what it had."""
        self.close()

    @contextlib.contextmanager
    def client(self):  # noqa: ANN201 - the SDK has no types
        """The SDK's client of this engine.

        Raises:
            OSError: Nobody listens. (The SDK would leave the socket open.)
        """
        with socket.socket(socket.AF_UNIX) as knock:
            knock.connect(self.host.removeprefix("unix://"))
        client = docker.DockerClient(self.host, timeout=30)
        try:
            yield client
        finally:
            client.close()

    def start(self) -> None:
        """Start it, and wait until it answers.

        On a busy machine its containerd may not come up in time, and it gives up: whoever
        supervises an engine starts it again then.
        """
        for _ in range(STARTS):
            if self._starts():
                return
        raise RuntimeError("dockerd: " + (self._folder / "log").read_text()[-2000:])

    def _forget_containerd(self) -> None:
        """It dies with its engine; where nobody reaps it, the next engine would wait for it."""
        file = self._folder / "exec" / "containerd" / "containerd.pid"
        with contextlib.suppress(OSError, ValueError, psutil.NoSuchProcess):
            process = psutil.Process(int(file.read_text()))
            deadline = time.monotonic() + START_S
            while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
                time.sleep(0.01)
        file.unlink(missing_ok=True)

    def _starts(self) -> bool:
        folder = self._folder
        self._forget_containerd()
        with (folder / "log").open("ab") as log:
            # No network, so nothing of the host's is changed.
            self._process = subprocess.Popen(
                ["dockerd", "--host", self.host, "--data-root", f"{folder}/data",
                 "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid",
                 "--bridge", "none", "--iptables=false", "--ip-forward=false",
                 "--exec-opt", "native.cgroupdriver=cgroupfs"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + START_S
        while True:
            with contextlib.suppress(Exception), self.client() as client:
                client.ping()
                return True
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                return False
            time.sleep(0.05)

    def kill(self) -> None:
        """End it with SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Stop it and remove what it had."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(Exception), self.client() as client:
                for found in client.api.containers(all=True):
                    client.api.remove_container(found["Id"], force=True)
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
        # Its containerd outlives a kill.
        for each in psutil.process_iter(["cmdline"]):
            if any(str(self._folder) in part for part in each.info["cmdline"] or ()):
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
                    each.wait(10)
        for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
            if (point := line.split()[4]).startswith(str(self._folder)):
                subprocess.run(["umount", "-l", point], check=False, capture_output=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _import(self) -> None:
        names = "\n".join(sorted(_files())) + "\n"
        tar = subprocess.Popen(
            ["tar", "-C", "/", "-cf", "-", "--no-recursion", "-T", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        load = subprocess.Popen(
            ["docker", "-H", self.host, "import", "-", IMAGE],
            stdin=tar.stdout, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        assert tar.stdin is not None
        assert tar.stdout is not None
        tar.stdout.close()
        tar.stdin.write(names.encode())
        tar.stdin.close()
        if load.wait() or tar.wait():
            raise RuntimeError("the image cannot be made")


def _files() -> set[str]:
    """Names of everything in the image, relative to the root."""
    options = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    listed = subprocess.run(
        ["apt-cache", "depends", "--recurse", "--installed", *(f"--no-{o}" for o in options),
         *PACKAGES],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    packages = sorted({line for line in listed.splitlines() if line and line[0].isalnum()})
    owned = subprocess.run(
        ["dpkg", "-L", *packages], check=False, capture_output=True, text=True
    ).stdout
    found = {*ALIASES, "tmp", "etc/passwd", "etc/group"}
    for line in owned.splitlines():
        first, _, rest = line[1:].partition("/")
        if not line.startswith("/") or not rest or LEFT_OUT.search(line):
            continue
        # Packages name files by the old folders, which are links.
        moved = first in ALIASES and Path("/", first).is_symlink()
        name = f"usr/{first}/{rest}" if moved else line[1:]
        path = Path("/", name)
        if path.is_symlink() or path.is_file():
            found.add(name)
    return {name for name in found if Path("/", name).exists() or Path("/", name).is_symlink()}
