from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_scoring_loads_no_torch_no_grpc_and_no_gateway():
    code = (
        "import sys, verifier.scoring, verifier.scoring.prime_code;"
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
