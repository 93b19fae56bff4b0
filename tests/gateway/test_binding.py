"""Unix sockets and ports: their mode, and what is there already."""

from __future__ import annotations

import os
import socket
import stat

import grpc
import pytest

from verifier.config import Settings
from verifier.errors import ConfigError
from verifier.gateway import Gateway
from verifier.v1 import verifier_pb2_grpc as rpc


@pytest.fixture
async def gateway_at(unused_engine):
    started = []

    async def start(**settings):
        gateway = Gateway(unused_engine, Settings(**settings))
        started.append(gateway)
        await gateway.start()
        return gateway

    yield start
    for gateway in started:
        await gateway.stop(0)


async def works(address, request):
    async with grpc.aio.insecure_channel(address) as channel:
        assert (await rpc.VerifierStub(channel).Score(request)).score == 1.0


@pytest.mark.parametrize("mode", ["0600", "660"])
async def test_a_socket_has_its_mode_whatever_the_umask(gateway_at, request_of, tmp_path, mode):
    before = os.umask(0o077 if mode == "660" else 0)
    try:
        await gateway_at(grpc=f"unix:{tmp_path}/s", socket_mode=mode)
        assert os.umask(0o022) == (0o077 if mode == "660" else 0)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == int(mode, 8)
    await works(f"unix:{tmp_path}/s", request_of())


async def test_the_file_goes_with_the_gateway(gateway_at, tmp_path):
    gateway = await gateway_at(grpc=f"unix:///{tmp_path}/s")
    assert (tmp_path / "s").is_socket()
    await gateway.stop(0)
    assert not (tmp_path / "s").exists()


async def test_what_a_dead_gateway_left_is_replaced(gateway_at, request_of, tmp_path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(f"{tmp_path}/s")
    await gateway_at(grpc=f"unix:{tmp_path}/s")
    await works(f"unix:{tmp_path}/s", request_of())


async def test_a_living_one_keeps_its_socket(gateway_at, request_of, tmp_path):
    await gateway_at(grpc=f"unix:{tmp_path}/s")
    with pytest.raises(ConfigError, match="in use by another process"):
        await gateway_at(grpc=f"unix:{tmp_path}/s")
    await works(f"unix:{tmp_path}/s", request_of())


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
async def test_what_is_no_socket_is_left_alone(gateway_at, tmp_path, kind):
    path = tmp_path / "s"
    if kind == "file":
        path.write_text("precious")
    elif kind == "folder":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(f"{tmp_path}/real")
        path.symlink_to(tmp_path / "real")
    with pytest.raises(ConfigError, match="not a socket"):
        await gateway_at(grpc=f"unix:{path}")
    assert path.exists()
    assert kind != "file" or path.read_text() == "precious"


@pytest.mark.parametrize(
    ("name", "text"), [("no/such/folder", "folder does not exist"), ("x" * 120, "longer than")]
)
async def test_a_socket_that_cannot_be_is_a_clear_error(gateway_at, tmp_path, name, text):
    with pytest.raises(ConfigError, match=text):
        await gateway_at(grpc=f"unix:{tmp_path}/{name}")


async def test_a_taken_port_is_said_to_be_taken(gateway_at):
    gateway = await gateway_at(grpc="127.0.0.1:0")
    port = gateway.bound.grpc.rpartition(":")[2]
    with pytest.raises(ConfigError, match=f"port {port} is in use"):
        await gateway_at(grpc=gateway.bound.grpc)
    with pytest.raises(ConfigError, match="in use"):
        await gateway_at(grpc="127.0.0.1:0", http=gateway.bound.grpc)
