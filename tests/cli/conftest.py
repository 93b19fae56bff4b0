"""A sandbox that runs nothing behind the real engine, for the commands that need one."""

from __future__ import annotations

import pytest

import verifier.engine
from verifier.testing import FakeSandbox
from verifier.types import RunFacts


@pytest.fixture
def sandbox(monkeypatch):
    """The sandbox that the commands get, whichever backend they ask for: it doubles its input."""

    def double(job, data):
        out = b"%d\n" % (2 * int(data or b"0"))
        return RunFacts(exit_code=0, stdout=out, stdout_bytes=len(out), cpu_time_s=0.25)

    fake = FakeSandbox(double)
    fake.asked = []

    def make_sandbox(backend, **options):
        fake.asked.append((backend, options))
        return fake

    monkeypatch.setattr(verifier.engine, "make_sandbox", make_sandbox)
    return fake
