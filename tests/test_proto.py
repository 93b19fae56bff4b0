"""The committed stubs are what the proto says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from verifier.v1 import verifier_pb2 as pb

ROOT = Path(__file__).parent.parent
STUBS = ("verifier_pb2.py", "verifier_pb2.pyi", "verifier_pb2_grpc.py")


def test_the_committed_stubs_match_the_proto(tmp_path):
    pytest.importorskip("grpc_tools", reason="pip install grpcio-tools==1.71.2")
    subprocess.run(
        ["bash", str(ROOT / "scripts/proto"), str(tmp_path)],
        check=True,
        env={**os.environ, "PYTHON": sys.executable},
    )
    for name in STUBS:
        made = (tmp_path / "verifier/v1" / name).read_text()
        committed = (ROOT / "verifier/v1" / name).read_text()
        assert made == committed, f"verifier/v1/{name} is stale: run scripts/proto"


def test_the_service_has_its_methods():
    methods = {m.name: m for m in pb.DESCRIPTOR.services_by_name["Verifier"].methods}
    assert set(methods) == {"Score", "ScoreStream", "Run", "PutSuite", "GetInfo"}
    stream = methods["ScoreStream"]
    assert (stream.client_streaming, stream.server_streaming) == (True, True)


def test_the_enums_of_the_wire_are_those_of_the_types():
    from verifier.types import Outcome, Status, Trust

    for enum, kind, prefix in (
        (pb.Outcome, Outcome, "OUTCOME"),
        (pb.Status, Status, "STATUS"),
        (pb.Trust, Trust, "TRUST"),
    ):
        assert set(enum.keys()) == {f"{prefix}_UNSPECIFIED"} | {f"{prefix}_{k.name}" for k in kind}
