"""TLS and mutual TLS on both sides: who gets in, and certificates that are renewed."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl

import grpc
import pytest
import trustme

from tests.gateway import certificates, http_client
from verifier.config import Settings
from verifier.errors import ConfigError
from verifier.gateway import Gateway
from verifier.gateway.tls import Tls
from verifier.v1 import verifier_pb2_grpc as rpc


@pytest.fixture(scope="module")
def ca():
    return trustme.CA()


@pytest.fixture(scope="module")
def other_ca():
    return trustme.CA()


@pytest.fixture
def files(ca, tmp_path):
    return certificates.write(ca, tmp_path / "server", "localhost", "127.0.0.1")


def settings(files, **more):
    return {"tls_cert": files.cert, "tls_key": files.key, **more}


async def score(address, request, ca, cert=None, name=None):
    credentials = grpc.ssl_channel_credentials(
        ca.cert_pem.bytes(),
        cert.private_key_pem.bytes() if cert else None,
        b"".join(blob.bytes() for blob in cert.cert_chain_pems) if cert else None,
    )
    options = [("grpc.use_local_subchannel_pool", 1)]
    if name:
        options.append(("grpc.ssl_target_name_override", name))
    async with grpc.aio.secure_channel(address, credentials, options=options) as channel:
        return await rpc.VerifierStub(channel).Score(request)


async def unreachable(call, text=""):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert text.lower() in (caught.value.details() or "").lower()


async def https(address, ca, cert=None, path="/healthz"):
    context = ssl.create_default_context(cadata=ca.cert_pem.bytes().decode())
    if cert is not None:
        cert.configure_cert(context)
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = await http_client.receive(reader)
        return answer.status, writer.get_extra_info("peercert")["serialNumber"]
    finally:
        writer.close()


async def test_tls_is_served_and_plain_connections_are_not(serve, request_of, ca, other_ca, files):
    running = await serve(**settings(files))
    assert (await score(running.address, request_of(), ca)).score == 1.0
    await unreachable(running.stub.Score(request_of()))
    await unreachable(score(running.address, request_of(), other_ca), "handshake failed")


async def test_a_certificate_for_another_name_is_refused_by_the_client(
    serve, request_of, ca, tmp_path
):
    files = certificates.write(ca, tmp_path / "other", "gateway.example")
    running = await serve(**settings(files))
    await unreachable(score(running.address, request_of(), ca))
    answer = await score(running.address, request_of(), ca, name="gateway.example")
    assert answer.score == 1.0


async def test_mutual_tls_lets_in_whom_it_knows(serve, request_of, ca, other_ca, files, tmp_path):
    clients = tmp_path / "clients.pem"
    other_ca.cert_pem.write_to_path(clients)
    running = await serve(
        **settings(files, tls_client_ca=clients, http="127.0.0.1:0"),
    )
    known, unknown = other_ca.issue_cert("trainer"), ca.issue_cert("trainer")
    assert (await score(running.address, request_of(), ca, known)).score == 1.0
    await unreachable(score(running.address, request_of(), ca))
    await unreachable(score(running.address, request_of(), ca, unknown))
    assert (await https(running.http, ca, known))[0] == 200
    for cert in (None, unknown):
        with pytest.raises((ssl.SSLError, ConnectionError, IndexError, ValueError)):
            await https(running.http, ca, cert)


async def test_a_renewed_certificate_is_used_without_a_restart(
    serve, request_of, ca, other_ca, files, tmp_path, caplog
):
    running = await serve(**settings(files, http="127.0.0.1:0"))
    assert (await score(running.address, request_of(), ca)).score == 1.0
    _, before = await https(running.http, ca)
    fresh = certificates.write(other_ca, tmp_path / "fresh", "localhost", "127.0.0.1")
    # Half of it: the new certificate does not fit the old key, so both stay the old ones.
    with caplog.at_level(logging.ERROR, "verifier.gateway"):
        fresh.cert.replace(files.cert)
        assert (await score(running.address, request_of(), ca)).score == 1.0
        assert (await https(running.http, ca))[1] == before
    assert "old content stays" in caplog.text
    fresh.key.replace(files.key)
    assert (await score(running.address, request_of(), other_ca)).score == 1.0
    await unreachable(score(running.address, request_of(), ca))
    assert (await https(running.http, other_ca))[1] != before


async def test_who_signs_clients_is_read_again_too(
    serve, request_of, ca, other_ca, files, tmp_path
):
    clients = tmp_path / "clients.pem"
    ca.cert_pem.write_to_path(clients)
    running = await serve(**settings(files, tls_client_ca=clients, http="127.0.0.1:0"))
    one, other = ca.issue_cert("trainer"), other_ca.issue_cert("trainer")
    assert (await score(running.address, request_of(), ca, one)).score == 1.0
    other_ca.cert_pem.write_to_path(clients)
    os.utime(clients, ns=(1, 1))
    assert (await score(running.address, request_of(), ca, other)).score == 1.0
    await unreachable(score(running.address, request_of(), ca, one))
    assert (await https(running.http, ca, other))[0] == 200
    with pytest.raises((ssl.SSLError, ConnectionError, IndexError, ValueError)):
        await https(running.http, ca, one)


async def test_tokens_and_tls_together(serve, request_of, ca, files, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("alice 0123456789abcdef0123")
    running = await serve(**settings(files, tokens=tokens, http="127.0.0.1:0"))
    with pytest.raises(grpc.aio.AioRpcError, match="token"):
        await score(running.address, request_of(), ca)
    assert (await https(running.http, ca))[0] == 200
    assert (await https(running.http, ca, path="/v1/ping"))[0] == 401


async def test_a_unix_socket_has_no_tls(unused_engine, request_of, files, tmp_path):
    gateway = Gateway(unused_engine, Settings(grpc=f"unix:{tmp_path}/s", **settings(files)))
    bound = await gateway.start()
    async with grpc.aio.insecure_channel(bound.grpc) as channel:
        assert (await rpc.VerifierStub(channel).Score(request_of())).score == 1.0
    await gateway.stop(0)


def test_files_that_do_not_fit_are_an_error_that_names_them(ca, files, tmp_path):
    other = certificates.write(ca, tmp_path / "other", "x")
    junk = tmp_path / "junk"
    junk.write_text("junk")
    for cert, key, client_ca, text in (
        (files.cert, other.key, None, "tls_cert, tls_key"),
        (junk, files.key, None, "tls_cert, tls_key"),
        (files.cert, files.key, junk, "tls_client_ca"),
        (files.cert, files.key, tmp_path / "none", "tls_client_ca: cannot read"),
        (tmp_path / "none", files.key, None, "tls_cert: cannot read"),
        (files.cert, tmp_path / "none", None, "tls_key: cannot read"),
    ):
        with pytest.raises(ConfigError, match=text) as caught:
            Tls(cert, key, client_ca)
        assert "PRIVATE" not in str(caught.value)


async def test_a_session_of_a_removed_authority_is_not_resumed(files, ca, other_ca, tmp_path):
    clients = tmp_path / "clients.pem"
    ca.cert_pem.write_to_path(clients)

    async def greet(_, writer):
        writer.write(b"hello")
        writer.close()

    context = Tls(files.cert, files.key, clients).http_context()
    client = ssl.create_default_context(cadata=ca.cert_pem.bytes().decode())
    ca.issue_cert("trainer").configure_cert(client)

    def call(port, session=None):
        with (
            socket.create_connection(("127.0.0.1", port)) as raw,
            client.wrap_socket(raw, server_hostname="localhost", session=session) as wrapped,
        ):
            return wrapped.recv(5), wrapped.session

    def refused(port, session=None):
        try:
            return call(port, session)[0] != b"hello"
        except (ssl.SSLError, ConnectionError):
            return True

    async with await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        said, session = await asyncio.to_thread(call, port)
        assert said == b"hello"
        other_ca.cert_pem.write_to_path(clients)
        os.utime(clients, ns=(1, 1))
        assert await asyncio.to_thread(refused, port, session)
        # TLS 1.2 resumes by the session's number too: it is not spoken where clients are asked.
        ca.cert_pem.write_to_path(clients)
        os.utime(clients, ns=(2, 2))
        assert not await asyncio.to_thread(refused, port)
        client.maximum_version = ssl.TLSVersion.TLSv1_2
        assert await asyncio.to_thread(refused, port)
