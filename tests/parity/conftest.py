from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from paths import Verdicts, offline
from reports import example_rows, report_rows, sibling_rows, skip_or_fail, written

from verifier.cli.doctor import Findings, examine
from verifier.scoring import close_local_engines

IMAGE = os.environ.get("VERIFIER_TEST_IMAGE", "verifier-sandbox:latest")


class Backends:
    """What each backend guarantees here, and what the command line says of all rows on it: once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, Findings] = {}
        self._said: dict[str, Verdicts] = {}

    def need(self, backend: str) -> Findings:
        """Skip or fail where a backend cannot serve."""
        if backend not in self._found:
            image = IMAGE if backend == "docker" else None
            self._found[backend] = asyncio.run(examine(backend, image))
        problem = self._found[backend].problem
        if problem:
            must = f"VERIFIER_REQUIRE_{backend.upper()}"
            (pytest.fail if os.environ.get(must) == "1" else pytest.skip)(f"{backend}: {problem}")
        return self._found[backend]

    def need_all_of(self, backend: str) -> Findings:
        """Skip or fail where a guarantee or a language is missing that reports are about."""
        found = self.need(backend)
        missing = [*found.missing, *({"cpp", "java", "javascript"} - found.toolchains.keys())]
        if missing:
            skip_or_fail(f"{backend} has no {', '.join(missing)} here")
        return found

    def results(self, backend: str) -> Path:
        """The file that `offline` wrote."""
        self.offline(backend)
        return self._folder / f"{backend}.jsonl"

    def offline(self, backend: str) -> Verdicts:
        """All rows by `verifier score`."""
        found = self.need(backend)
        if backend not in self._said:
            # The examples have a test of their own on each backend: they are run on one here.
            extra = example_rows() + sibling_rows() if backend == "namespaces" else []
            rows = written(self._folder / f"{backend}.rows.jsonl", report_rows() + extra)
            results = self._folder / f"{backend}.jsonl"
            self._said[backend] = offline(rows, results, backend, accept=found.missing, image=IMAGE)
        return self._said[backend]


@pytest.fixture(scope="session")
def backends(tmp_path_factory):
    yield Backends(tmp_path_factory.mktemp("parity"))
    close_local_engines()
