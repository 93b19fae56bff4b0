"""What importing the package costs, and that its public names are all there."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import verifier

HEAVY = ("docker", "google.protobuf", "grpc", "numpy", "pydantic", "ray", "rich", "torch", "typer")


def modules_after(statement: str) -> set[str]:
    """Names in sys.modules after a statement, in a fresh interpreter."""
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    assert not modules_after("import verifier").intersection(HEAVY)


@pytest.mark.parametrize(
    "module",
    ["types", "errors", "limits", "languages", "extraction", "testcases", "judging", "data"],
)
def test_the_pure_layers_load_nothing_heavy(module):
    assert not modules_after(f"import verifier.{module}").intersection(HEAVY)


def test_the_engine_loads_no_wire_and_no_containers():
    loaded = modules_after("import verifier; verifier.Engine")
    assert not loaded.intersection({"docker", "grpc", "ray", "torch"})


def test_the_command_line_shows_help_without_the_wire_or_containers():
    loaded = modules_after("import verifier.cli.app")
    assert not loaded.intersection({"docker", "grpc", "psutil", "pydantic", "ray", "torch"})


@pytest.mark.parametrize("name", verifier.__all__)
def test_every_public_name_resolves(name):
    assert getattr(verifier, name) is not None
    assert name in dir(verifier)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = verifier.nonsense


def test_all_is_complete_and_sorted():
    tree = ast.parse(Path(verifier.__file__).read_text(encoding="utf-8"))
    declared = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("verifier")
        for alias in node.names
    }
    assert set(verifier.__all__) == declared
    assert verifier.__all__ == sorted(verifier.__all__)


@pytest.mark.parametrize("module", ["types", "errors"])
def test_every_value_and_error_is_public(module):
    tree = ast.parse((Path(verifier.__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    assert classes <= set(verifier.__all__)
