"""What makes compilers start sooner: made by the images' finishing script, taken, never needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from verifier.languages import RECIPES
from verifier.languages.base import STARTS

FINISH = Path(__file__).resolve().parents[2] / "sandbox_images" / "finish.sh"
FILES = {"java": ("javac", "javac.jsa"), "typescript": ("tsc", "typescript-*.v8")}


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("starts")
    subprocess.run(["sh", FINISH, "--starts", folder], check=True)
    return folder


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FILES)
def test_a_compiler_says_nothing_of_it(starts, tmp_path, name):
    tool, pattern = FILES[name]
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool} here")
    (made,) = starts.glob(pattern)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / made.name).write_bytes(b"\0" * 9999)
    recipe = RECIPES[name]
    for folder in (starts, broken, tmp_path / "absent"):
        home = tmp_path / f"with-{folder.name}"
        home.mkdir()
        (home / recipe.file_name(recipe.self_test.encode())).write_text(recipe.self_test)
        argv = [word.replace(STARTS, str(folder)) for word in recipe.compile_argv]
        done = subprocess.run(argv, cwd=home, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), folder
        assert (home / recipe.outputs[0]).is_file()


@pytest.mark.timeout(600)
def test_the_archive_fits(starts):
    if shutil.which("javac") is None:
        pytest.skip("no javac here")
    # "on" refuses to start without it.
    flags = ("-J-Xshare:on", f"-J-XX:SharedArchiveFile={starts}/javac.jsa", "-J-XX:+UseSerialGC")
    said = subprocess.run(["javac", *flags, "-version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("javac ")
