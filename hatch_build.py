"""Build hook: compiles the jail and packs the runner into the wheel.

The wheel then runs on a machine that has no compiler. Where there is none at build time either, an
isolated build is given zig from PyPI; a build that has neither makes a pure wheel, which compiles
at first use.

An editable install gets no files of its own: its cache is filled, while zig may still be at hand.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JailBuildHook(BuildHookInterface[Any]):
    """Adds `verifier/runner/built/` to the wheel, and the platform to its name."""

    PLUGIN_NAME = "custom"
    scratch: tempfile.TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """A compiler, where the machine has none."""
        if self.target_name != "wheel":
            return []
        return [] if runner_build(self.root).compilers() else ["ziglang>=0.12"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the files before hatchling collects the wheel's content."""
        if self.target_name != "wheel":
            return
        runner = runner_build(self.root)
        if version == "editable":
            try:
                runner.jail_library()
            except runner.BackendError as error:
                self.app.display_warning(str(error))
            return
        self.scratch = tempfile.TemporaryDirectory(prefix="verifier-wheel-")
        folder = Path(self.scratch.name)
        included = build_data["force_include"]
        zipapp = folder / runner.zipapp_name()
        runner.pack_zipapp(zipapp)
        included[str(zipapp)] = f"verifier/runner/built/{zipapp.name}"
        library = folder / runner.library_name()
        if not runner.compilers():
            self.app.display_warning("no C compiler: this wheel compiles the jail at first use")
            return
        runner.compile_library(library)
        included[str(library)] = f"verifier/runner/built/{library.name}"
        # Any Python 3 loads the library through ctypes, but only on this kind of machine.
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{runner.wheel_platform()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was collected."""
        del version, build_data, artifact_path
        if self.scratch is not None:
            self.scratch.cleanup()


def runner_build(root: str) -> Any:
    """`verifier.runner.build` of this tree, without running the package's own `__init__`.

    The build environment has none of the package's dependencies, and may have another version of
    it.
    """
    saved = {
        name: module for name, module in sys.modules.items() if name.split(".")[0] == "verifier"
    }
    for name in saved:
        del sys.modules[name]
    try:
        for name in ("verifier", "verifier.runner"):
            package = ModuleType(name)
            package.__path__ = [str(Path(root, *name.split(".")))]
            sys.modules[name] = package
        return importlib.import_module("verifier.runner.build")
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "verifier"]:
            del sys.modules[name]
        sys.modules.update(saved)
