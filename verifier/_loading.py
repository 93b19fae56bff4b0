"""Objects of modules by address, and functions that travel by it to worker processes.

Apart from `verifier.rewards`, so that a worker process that calls a function need not load torch.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from verifier.errors import ConfigError


class FunctionFrom:
    """A function of a module, loaded when first called in a process; travels by its address.

    Args:
        path: "pkg://package.module" or a file, made absolute: a worker has another current folder.
        name: The function.
        bound: Keyword arguments of every call; these go before what a caller gives, as in verl.
    """

    def __init__(self, path: str, name: str, bound: Mapping[str, Any] | None = None) -> None:
        file = not path.startswith("pkg://")
        self.path = str(Path(path.removeprefix("file://")).absolute()) if file else path
        self.__name__ = name
        self._bound = dict(bound or {})
        self._fn: Callable[..., Any] | None = None

    def load(self) -> Callable[..., Any]:
        """The function itself.

        Raises:
            ConfigError: It is not there.
        """
        if self._fn is None:
            self._fn = load_object(self.path, self.__name__)
        return self._fn

    def __call__(self, *args: Any, **given: Any) -> Any:
        """Call it."""
        return self.load()(*args, **{**given, **self._bound})

    def __reduce__(self) -> tuple[type[FunctionFrom], tuple[str, str, dict[str, Any]]]:
        return (type(self), (self.path, self.__name__, self._bound))


class Caller:
    """Calls one function in its process, one call at a time, on the main thread.

    Args:
        fn: The function.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    def ready(self) -> bool:
        """Answers once the process is there."""
        return True

    def call(self, **arguments: Any) -> Any:
        """Call it; what it returns is awaited where it can be."""
        value = self._fn(**arguments)
        return asyncio.run(_settled(value)) if inspect.isawaitable(value) else value


async def _settled(value: Any) -> Any:
    return await value


def load_object(path: str, name: str) -> Any:
    """An object of a module: "pkg://package.module", or the path of a Python file.

    Raises:
        ConfigError: The module or the object is not there.
    """
    if path.startswith("pkg://"):
        module_name = path.removeprefix("pkg://").replace("/", ".")
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            raise ConfigError(f"cannot import {module_name!r} (from {path!r}): {error}") from error
    else:
        module = _load_file(Path(path.removeprefix("file://")))
    try:
        return getattr(module, name)
    except AttributeError:
        raise ConfigError(f"{path} has no {name!r}") from None


_files_lock = threading.Lock()


def _load_file(file: Path) -> Any:
    if not file.is_file():
        raise ConfigError(f"there is no file {file} (a module of a package is 'pkg://its.name')")
    # Two files of one name are two modules; one file is one, whoever loads it.
    where = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]
    module_name = f"verifier_user_{file.stem}_{where}"
    with _files_lock:
        if module_name in sys.modules:
            return sys.modules[module_name]
        spec = importlib.util.spec_from_file_location(module_name, file)
        if spec is None or spec.loader is None:
            raise ConfigError(f"{file} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module  # dataclasses and pickle look a class's module up there
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
    return module
