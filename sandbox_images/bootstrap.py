"""Makes a root file system from the machine's own package archive: no image registry is needed.

mmdebstrap writes a tarball, and `docker import` makes an image of it. The machine's apt sources are
used, so a machine behind a mirror or a proxy builds from there; the image is left without a trace
of them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sandbox_images.recipe import HERE, ImageRecipe

TOOL = "mmdebstrap"

# Documentation is not even unpacked. The copyright notices are. A root that was cut off by a power
# failure is made again: nothing has to be on the disk in between.
DPKG_OPTIONS = (
    "force-unsafe-io",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
)

# What mmdebstrap copies from the machine into the root: sources, credentials, resolver, name.
REMOVE_TRACES = (
    'rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/auth.conf* '
    '"$1"/etc/apt/apt.conf.d/*proxy* "$1"/etc/resolv.conf "$1"/etc/hostname "$1"/etc/machine-id '
    '"$1"/var/lib/dbus/machine-id'
)


class BootstrapError(Exception):
    """The root could not be made; the message says what to type."""


def suite(os_release: Path = Path("/etc/os-release")) -> str:
    """This machine's release name ("bookworm").

    Raises:
        BootstrapError: The file does not say.
    """
    text = os_release.read_text() if os_release.is_file() else ""
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "VERSION_CODENAME" and value.strip("\"' "):
            return value.strip("\"' ")
    message = (
        f"{os_release} has no VERSION_CODENAME: "
        "pass --suite, or build on an image with --base IMAGE"
    )
    raise BootstrapError(message)


def sources(release: str, apt: Path = Path("/etc/apt")) -> list[Path]:
    """The apt source files that serve a release.

    The distribution's own file alone where it has a conventional name, else all that name the
    release. Empty when there are none: mmdebstrap has a default then.
    """
    conventional = [apt / "sources.list.d" / f"{name}.sources" for name in ("debian", "ubuntu")]
    own = [path for path in [*conventional, apt / "sources.list"] if _serves(path, release)]
    if own:
        return own[:1]
    folder = apt / "sources.list.d"
    others = sorted([*folder.glob("*.sources"), *folder.glob("*.list")]) if folder.is_dir() else []
    return [path for path in others if _serves(path, release)]


def _serves(path: Path, release: str) -> bool:
    """Whether a source file has an active binary entry of the release."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError):
        return False
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    word = re.compile(rf"(^|\s){re.escape(release)}(\s|$)")
    if path.suffix == ".sources":
        return any(line.startswith("Suites:") and word.search(line[7:]) for line in lines)
    return any(line.startswith("deb ") and word.search(line) for line in lines)


def available(*, install: bool = True) -> bool:
    """Whether mmdebstrap is here, after trying to install it where that is possible."""
    if shutil.which(TOOL):
        return True
    if not install or os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-q"],
        ["apt-get", "install", "-qy", "--no-install-recommends", TOOL],
    ):
        if subprocess.run(command, env=env, stdin=subprocess.DEVNULL, check=False).returncode != 0:
            return False
    return shutil.which(TOOL) is not None


def command(recipe: ImageRecipe, release: str, source_files: list[Path], target: Path) -> list[str]:
    """The mmdebstrap command line of the image that programs run in."""
    # The script's text is the argument: in unshare mode a path in a private home could not be read.
    finish = shlex.join(
        [
            "/bin/sh",
            "-c",
            (HERE / "finish.sh").read_text(),
            "finish.sh",
            " ".join(recipe.header_flags),
        ]
    )
    hooks = [
        # The JDK's packages fail to configure without this folder.
        '--essential-hook=mkdir -p "$1"/usr/share/man/man1',
        f'--customize-hook=chroot "$1" {finish}',
    ]
    return _command(recipe.packages, hooks, release, source_files, target)


def _command(
    packages: Sequence[str],
    hooks: list[str],
    release: str,
    source_files: list[Path],
    target: Path,
) -> list[str]:
    return [
        TOOL,
        "--variant=minbase",
        "--include=" + ",".join(packages),
        *(f"--dpkgopt={option}" for option in DPKG_OPTIONS),
        *hooks,
        f"--customize-hook={REMOVE_TRACES}",
        release,
        str(target),
        *(str(path) for path in source_files),
    ]


def make(recipe: ImageRecipe, release: str, source_files: list[Path], target: Path) -> None:
    """Write the root file system of a recipe as a tarball.

    Raises:
        BootstrapError: mmdebstrap is absent or failed.
    """
    _make(command(recipe, release, source_files, target))


def make_root(
    packages: Sequence[str], release: str, source_files: list[Path], target: Path
) -> None:
    """Write a root file system of these packages and nothing else as a tarball.

    Raises:
        BootstrapError: mmdebstrap is absent or failed.
    """
    clean = 'rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/log/*'
    _make(_command(packages, [f"--customize-hook={clean}"], release, source_files, target))


def _make(words: list[str]) -> None:
    if not available():
        message = (
            "mmdebstrap is not installed: apt-get install mmdebstrap, "
            "or build on an image with --base IMAGE"
        )
        raise BootstrapError(message)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        message = (
            f"mmdebstrap failed with exit code {done.returncode} (its messages are above); "
            "as an ordinary user it needs a subuid range: see `man mmdebstrap`, MODES"
        )
        raise BootstrapError(message)
