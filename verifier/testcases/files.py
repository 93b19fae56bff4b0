"""Files of problem packages: read with their names in every complaint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from verifier.errors import ConfigError, SuiteError
from verifier.languages import resolve
from verifier.testcases.fields import MIB, mapping, text

SUFFIXES = {
    ".cpp": "cpp",
    ".cc": "cpp",
    ".cxx": "cpp",
    ".c++": "cpp",
    ".c": "c",
    ".py": "python",
    ".py3": "python",
    ".java": "java",
}
_MAX_FILE_BYTES = 1024 * MIB


def language_of(path: Path, root: Path) -> str:
    """The language of a source, by its name."""
    found = resolve(SUFFIXES.get(path.suffix, ""))
    if found is None:
        raise SuiteError(str(path.relative_to(root)), "in a language that is not known here")
    return found


def is_inside(path: Path, root: Path) -> bool:
    """Whether a file is in the package, links followed: a package may come from anybody."""
    try:
        path.is_file()  # which a name may be too long for
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):  # a NUL in the name, links in a circle
        return False


def read(path: Path, root: Path) -> bytes:
    """A file of the package in `root`."""
    name = str(path.relative_to(root))
    if not is_inside(path, root):
        raise SuiteError(name, "leads out of the package")
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise SuiteError(name, f"larger than {_MAX_FILE_BYTES} bytes")
        return path.read_bytes()
    except OSError as e:
        raise SuiteError(name, f"cannot be read: {e.strerror}") from None


def read_text(path: Path, root: Path) -> str:
    """A text of the package in `root`."""
    return text(read(path, root), str(path.relative_to(root)))


def read_yaml(root: Path, name: str) -> Mapping[str, object]:
    """A description in YAML."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise ConfigError(
            f"{name} is YAML, and PyYAML is not installed: pip install 'sandbox-verifier[data]'"
        ) from None
    source = read_text(root / name, root)
    try:
        value = yaml.safe_load(source)
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        raise SuiteError(name, f"not YAML: {str(e).splitlines()[0][:200]}") from None
    return mapping({} if value is None else value, name)
