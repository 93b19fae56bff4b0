from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import verifier.scoring


def test_scoring_loads_no_torch_no_grpc_and_no_gateway():
    code = (
        "import sys, verifier.scoring.routing, verifier.scoring.prime_code;"
        "bad = {'torch', 'grpc', 'docker', 'ray', 'verl', 'verifier.gateway'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", verifier.scoring.__all__)
def test_every_public_name_resolves(name):
    assert getattr(verifier.scoring, name) is not None
    assert name in dir(verifier.scoring)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = verifier.scoring.nonsense


def test_a_worker_that_compares_loads_no_engine():
    code = (
        "import sys, verifier.scoring.symbolic.__main__, verifier.scoring.symbolic.prime;"
        "bad = {'verifier.engine', 'verifier.sandbox', 'pydantic', 'asyncio'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
