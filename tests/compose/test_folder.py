"""The shared folder: what is looked at in it, and who is talked to.

The runners are real, without a container around them.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from verifier.errors import BackendError, ConfigError, SlotError
from verifier.runner.agent import frames, libjail
from verifier.runner.build import jail_library, runner_zipapp
from verifier.sandbox.runners import RunnerSandbox, folder, promises
from verifier.sandbox.runners.folder import BusyError, Found, Greeting, MismatchError

PYTHON = "/usr/bin/python3"


@pytest.fixture
def runners(tmp_path):
    """Starts a supervisor and waits until it listens; all of them end with the test."""
    started = []

    def start(name="one", role="runner"):
        command = [PYTHON, "-s", str(runner_zipapp()), "--lib", str(jail_library())]
        command += ["--serve", str(tmp_path), "--role", role, "--name", name]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline().startswith("listening on ")
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def only(tmp_path):
    (found,) = folder.look(tmp_path)
    return found


def ready(sock):
    """The header of the runner's first frame."""
    return frames.Channel(sock).read()[0]


def free_again(found):
    """Connect until the last connection's runner has ended."""
    while True:
        with contextlib.suppress(BusyError):
            return folder.connect(found)[0]


# ---------------------------------------------------------------- what is looked at


def test_only_sockets_with_a_runners_name_are_seen(tmp_path, runners):
    runners("one")
    real = only(tmp_path)
    (tmp_path / "runner-link.sock").symlink_to(real.path)
    (tmp_path / "runner-file.sock").write_text("no socket")
    (tmp_path / "runner-folder.sock").mkdir()
    for name in ("runner-..sock", "other-one.sock", "runner-one.sock~", "runner-a b.sock"):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(tmp_path / name))
    assert folder.look(tmp_path) == [real]
    assert (real.role, real.host) == ("runner", "one")


def test_what_became_a_link_after_it_was_seen_is_not_followed(tmp_path, runners):
    runners("one")
    real = only(tmp_path)
    link = tmp_path / "runner-two.sock"
    link.symlink_to(real.path)
    with pytest.raises(SlotError, match="runner-two"):
        folder.connect(Found(link, "runner", "two", (0, 0)))
    # And the one that it points to was not disturbed.
    folder.connect(real)[0].close()


def test_a_folder_that_is_not_there_says_what_to_look_at(tmp_path):
    with pytest.raises(BackendError, match="runners_dir"):
        folder.look(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="VERIFIER_RUNNERS_DIR"):
        RunnerSandbox(None)


# ---------------------------------------------------------------- one connection at a time


def test_a_second_connection_is_told_that_the_runner_is_busy(tmp_path, runners):
    runners("one")
    found = only(tmp_path)
    first, greeting = folder.connect(found)
    with first:
        assert greeting.name == "one"
        assert ready(first)["op"] == "ready"
        with pytest.raises(BusyError, match="one serves another"):
            folder.connect(found)
    with free_again(found) as second:
        assert ready(second)["op"] == "ready"


def test_a_runner_that_dies_is_noticed_and_another_one_comes(tmp_path, runners):
    supervisor = runners("one")
    found = only(tmp_path)
    with folder.connect(found)[0] as sock:
        assert ready(sock)["op"] == "ready"
        children = Path(f"/proc/{supervisor.pid}/task/{supervisor.pid}/children").read_text()
        os.kill(int(children.split()[0]), signal.SIGKILL)
        assert sock.recv(1) == b""
    with free_again(found) as sock:
        assert ready(sock)["op"] == "ready"


def test_connections_that_say_nothing_or_nonsense_disturb_nobody(tmp_path, runners):
    runners("one")
    found = only(tmp_path)
    with contextlib.ExitStack() as silent:
        for index in range(40):
            sock = silent.enter_context(socket.socket(socket.AF_UNIX))
            sock.connect(str(found.path))
            if index % 2:
                with contextlib.suppress(BrokenPipeError):  # it was let go for a later one
                    sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with free_again(found) as sock:
            assert ready(sock)["op"] == "ready"


def test_a_container_that_comes_back_removes_its_own_stale_file_alone(tmp_path, runners):
    first = runners("one")
    first.kill()
    first.wait()
    stale = tmp_path / "runner-two.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(stale))
    before = folder.look(tmp_path)
    with pytest.raises(SlotError, match="refused"):
        folder.connect(before[0])
    runners("one")
    after = folder.look(tmp_path)
    assert [found.host for found in after] == ["one", "two"]
    assert after[0].born != before[0].born
    assert after[1] == before[1]
    folder.connect(after[0])[0].close()


def test_a_container_that_is_stopped_takes_its_file_along(tmp_path, runners):
    process = runners("one", role="helper")
    assert only(tmp_path).role == "helper"
    process.terminate()
    assert process.wait() == 0
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- who is not talked to


def greeting(**changes):
    said = {
        "op": "greeting",
        "protocol": frames.PROTOCOL,
        "abi": libjail.ABI,
        "agent": folder.agent_digest(),
        "memory_bytes": 0,
        "processes": 0,
    }
    return b"".join(frames.encode({**said, **changes}))


@pytest.mark.parametrize(
    ("said", "error", "match"),
    [
        (greeting(agent="another"), MismatchError, "another version.*another.*force-recreate"),
        (greeting(abi=libjail.ABI + 1), MismatchError, "another version"),
        (greeting(protocol=None), MismatchError, "another version"),
        (greeting(memory_bytes="1"), SlotError, "limits that are none"),
        (greeting(processes=-1), SlotError, "limits that are none"),
        (greeting(op="ready"), SlotError, "in place of a greeting"),
        (frames.LENGTHS.pack(1 << 30, 0), SlotError, "frame of"),
        (frames.LENGTHS.pack(1 << 20, 0), SlotError, "a greeting of"),
        (frames.LENGTHS.pack(2, 0) + b"[]", SlotError, "without an op"),
        (frames.LENGTHS.pack(2, 0) + b"\xff\xff", SlotError, "runner-odd.sock"),
        (b"", SlotError, "hung up"),
    ],
)
def test_what_does_not_greet_as_a_runner_does_is_left_alone(tmp_path, said, error, match):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "runner-odd.sock"))
        listener.listen()

        def answer():
            peer, _ = listener.accept()
            with peer:
                peer.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(error, match=match):
            folder.connect(only(tmp_path))
        thread.join()


async def test_a_runner_of_another_version_is_in_the_notes(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "runner-old.sock"))
        listener.listen()
        listener.settimeout(0)
        sandbox = RunnerSandbox(tmp_path)

        def answer():
            select.select([listener], [], [])
            peer, _ = listener.accept()
            with peer:
                peer.sendall(greeting(agent="old"))

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(MismatchError):
            await sandbox.open_slot()
        thread.join()
        assert "old" in sandbox.notes[0]
        assert sandbox.slot_count == 0
        await sandbox.close()


# ---------------------------------------------------------------- what is promised


def test_the_largest_limit_leaves_room_for_the_runner():
    gib = 1 << 30
    assert (
        promises.largest_limit(Greeting("a", fresh_proc=True, memory_bytes=gib, processes=0))
        == gib - promises.ROOM_BYTES
    )
    assert (
        promises.largest_limit(Greeting("a", fresh_proc=True, memory_bytes=0, processes=0))
        >= 1 << 60
    )


def test_a_supervisor_says_what_its_container_gives(tmp_path, runners):
    runners("one")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(only(tmp_path).path))
        said, _ = frames.Channel(sock).read()
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    masked = any(line.split()[4].startswith("/proc/") for line in mounts)
    assert said["fresh_proc"] is not masked
    assert json.dumps(said)
