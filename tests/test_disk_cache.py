"""The second tier: what is on disk is believed only after a look, and is never a reason to fail."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from verifier._disk_cache import DiskCache, UnsafeFolderError, open_private

BIG = 10_000_000


def key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def read(cache: DiskCache, name: str) -> bytes | None:
    found = cache.get(key(name))
    return None if found is None else bytes(found)


def names(cache: DiskCache) -> set[str]:
    return {path.name for path in cache.folder.iterdir()}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "programs"


@pytest.fixture
def cache(folder):
    made = DiskCache(folder, BIG)
    yield made
    made.close()


def test_what_was_put_is_there_for_another_process(cache, folder):
    cache.put(key("a"), b"one", b"", b" two")
    assert read(cache, "a") == b"one two"
    assert read(cache, "b") is None
    code = (
        "import sys; from pathlib import Path; from verifier._disk_cache import DiskCache\n"
        "sys.stdout.buffer.write(DiskCache(Path(sys.argv[1]), 10**7).get(sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), key("a")], capture_output=True, check=True
    )
    assert done.stdout == b"one two"


def test_the_folders_are_for_their_owner_alone(cache, folder):
    cache.put(key("a"), b"x")
    for path, mode in ((folder, 0o700), (folder.parent, 0o700), (folder / key("a"), 0o600)):
        assert path.stat().st_mode & 0o777 == mode
    assert cache.problem == ""


def spoil_cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def spoil_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def spoil_empty(path: Path) -> None:
    path.write_bytes(b"")


def spoil_garbage(path: Path) -> None:
    path.write_bytes(os.urandom(5000))


def spoil_link(path: Path) -> None:
    path.rename(path.parent / "elsewhere")
    path.symlink_to(path.parent / "elsewhere")


def spoil_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "spoil", [spoil_cut, spoil_bit, spoil_empty, spoil_garbage, spoil_link, spoil_fifo]
)
def test_a_spoiled_entry_is_a_miss_and_is_removed(cache, spoil):
    cache.put(key("a"), b"content")
    path = cache.folder / key("a")
    spoil(path)
    assert read(cache, "a") is None
    assert not os.path.lexists(path)
    cache.put(key("a"), b"again")
    assert read(cache, "a") == b"again"


def test_an_entry_under_another_name_is_a_miss(cache):
    cache.put(key("good"), b"an artifact that passes")
    (cache.folder / key("good")).rename(cache.folder / key("victim"))
    assert read(cache, "victim") is None
    assert names(cache) == set()


def test_a_folder_under_an_entrys_name_is_left_alone(cache):
    (cache.folder / key("a")).mkdir()
    assert read(cache, "a") is None
    cache.put(key("a"), b"x")
    cache.put(key("b"), b"y")
    assert (read(cache, "a"), read(cache, "b"), cache.problem) == (None, b"y", "")


def test_the_least_recently_used_go_first(folder):
    cache = DiskCache(folder, 10_000)
    for number, name in enumerate("abcd"):
        cache.put(key(name), bytes(2000))
        os.utime(folder / key(name), (number, number))
    assert read(cache, "a") == bytes(2000)  # used: now the newest
    cache.put(key("e"), bytes(2000))
    assert names(cache) == {key(name) for name in "acde"}
    cache.put(key("huge"), bytes(20_000))
    assert read(cache, "huge") is None
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 10_000
    cache.close()


def test_two_processes_share_one_budget(folder):
    one, two = DiskCache(folder, 40_000), DiskCache(folder, 40_000)
    for number in range(40):
        (one, two)[number % 2].put(key(str(number)), bytes(2000))
    # Each looks at the whole folder after a sixteenth of the budget.
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 40_000 * (1 + 2 / 16)
    assert read(one, "39") == read(two, "39") == bytes(2000)


def test_a_smaller_budget_holds_from_the_start(folder):
    big = DiskCache(folder, BIG)
    for name in "abcdef":
        big.put(key(name), bytes(1000))
    small = DiskCache(folder, 3000)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 3000
    assert small.problem == ""


def test_what_a_dead_writer_left_goes(folder):
    DiskCache(folder, BIG).close()
    old, fresh = folder / ".tmp-1-1", folder / ".tmp-2-2"
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    DiskCache(folder, BIG).close()
    assert {path.name for path in folder.iterdir()} == {fresh.name}


def test_many_writers_at_once(cache):
    def work(seed: int) -> None:
        for number in range(30):
            cache.put(key(str(number)), b"%d" % number * 100)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(read(cache, str(number)) == b"%d" % number * 100 for number in range(30))
    assert cache.problem == ""


def refused(folder: Path) -> str:
    cache = DiskCache(folder, BIG)
    cache.put(key("a"), b"x")
    assert cache.get(key("a")) is None
    assert cache.touch(key("a")) is False
    cache.close()
    return cache.problem


@pytest.mark.parametrize("which", ["folder", "parent"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_is_refused(folder, caplog, which, mode):
    DiskCache(folder, BIG).close()
    path = folder if which == "folder" else folder.parent
    path.chmod(mode)
    problem = refused(folder)
    assert "others may write" in problem
    assert f"chmod go-w {path}" in problem
    assert caplog.text.count("others may write") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_folder_of_another_user_is_refused(folder):
    DiskCache(folder, BIG).close()
    os.chown(folder, 12345, 12345)
    assert "belongs to user 12345" in refused(folder)


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "programs").symlink_to(tmp_path / "real")
    assert refused(tmp_path / "programs")
    with pytest.raises(OSError, match="programs"):
        open_private(tmp_path / "programs")


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "cache").write_bytes(b"")
    assert "memory only" in refused(tmp_path / "cache" / "programs")


def test_the_reason_is_an_error_of_its_own(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(UnsafeFolderError):
        open_private(tmp_path)


@contextlib.contextmanager
def mounted(folder: Path, options: str):
    """A tmpfs of its own there; root alone can."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "cache", str(folder)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"cannot mount here: {done.stderr.decode()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_said_once_and_written_to_again_later(folder, caplog):
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)
    now = [0.0]
    with mounted(folder, "size=64k,mode=0700"):
        cache = DiskCache(folder, BIG, clock=lambda: now[0])
        for number in range(20):
            cache.put(key(str(number)), bytes(10_000))
        assert "No space left" in cache.problem
        assert caplog.text.count("No space left") == 1
        assert not any(name.startswith(".tmp") for name in names(cache))
        # What is there can be read, and half was let go, for the others on this disk.
        kept = [number for number in range(20) if read(cache, str(number)) == bytes(10_000)]
        assert 1 <= len(kept) <= 4
        cache.put(key("early"), b"x")
        assert read(cache, "early") is None
        now[0] += 61
        cache.put(key("later"), b"x")
        assert (read(cache, "later"), cache.problem) == (b"x", "")
        cache.close()


def test_an_unwritable_folder_is_found_at_the_start(folder, caplog):
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)
    with mounted(folder, "size=64k,mode=0700,ro"), caplog.at_level(logging.WARNING):
        problem = refused(folder)
    assert "Read-only file system" in problem
    assert caplog.text.count("memory only") == 1
