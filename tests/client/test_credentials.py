"""A client's certificates and token, against real gateways."""

from __future__ import annotations

import pytest
import trustme

from tests.gateway import certificates
from tests.gateway.conftest import StubEngine
from verifier.client import AsyncClient, RetryPolicy, ScoreCall
from verifier.client.credentials import Credentials, open_channel
from verifier.config import Settings
from verifier.errors import AuthenticationError, ConfigError, GatewayUnavailableError
from verifier.gateway import Gateway

TOKEN = "0123456789abcdef0123"
ONCE = RetryPolicy(max_attempts=1)
TRUTH = '{"inputs": ["1"], "outputs": ["1"]}'


@pytest.fixture
async def gateway(tmp_path):
    """A gateway with mutual TLS and a token; answers (address, files of a client)."""
    ca = trustme.CA()
    server = certificates.write(ca, tmp_path / "server", "gateway.example")
    client = certificates.write(ca, tmp_path / "client", "trainer")
    tokens = tmp_path / "tokens"
    tokens.write_text(f"trainer {TOKEN}\n")
    engine = StubEngine()
    settings = Settings(
        grpc="127.0.0.1:0",
        tls_cert=server.cert,
        tls_key=server.key,
        tls_client_ca=server.ca,
        tokens=tokens,
    )
    running = Gateway(engine, settings)
    bound = await running.start()
    yield bound.grpc, client, engine
    await running.stop(0)


def env_of(files, **more):
    return {
        "VERIFIER_CA_FILE": str(files.ca),
        "VERIFIER_CLIENT_CERT": str(files.cert),
        "VERIFIER_CLIENT_KEY": str(files.key),
        "VERIFIER_SERVER_NAME": "gateway.example",
        "VERIFIER_TOKEN": TOKEN,
        **more,
    }


async def ask(monkeypatch, address, env):
    for name in env_of(certificates.Files(*"abc")):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    async with AsyncClient(address, retry=ONCE) as client:
        one = await client.score("```python\n1\n```", TRUTH)
        (other,) = await client.score_many([ScoreCall("```python\n1\n```", TRUTH)])
        assert other.score == one.score
        return one.score


async def test_all_of_it_comes_from_the_environment(gateway, monkeypatch, tmp_path):
    address, files, engine = gateway
    assert await ask(monkeypatch, address, env_of(files)) == 1.0
    assert engine.tasks[-1].client_id == "trainer"
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    env = env_of(files, VERIFIER_TOKEN_FILE=str(token))
    del env["VERIFIER_TOKEN"]
    assert await ask(monkeypatch, address, env) == 1.0


@pytest.mark.parametrize("token", ["", "wrong-wrong-wrong-wrong"])
async def test_without_the_right_token_nothing_is_run(gateway, monkeypatch, token):
    address, files, engine = gateway
    with pytest.raises(AuthenticationError, match="token") as caught:
        await ask(monkeypatch, address, env_of(files, VERIFIER_TOKEN=token))
    assert not token or token not in str(caught.value)
    assert engine.tasks == []


async def test_a_certificate_for_another_name_is_said(gateway, monkeypatch):
    address, files, _ = gateway
    with pytest.raises(GatewayUnavailableError, match="VERIFIER_SERVER_NAME"):
        await ask(monkeypatch, address, env_of(files, VERIFIER_SERVER_NAME="else.example"))


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ({"VERIFIER_TOKEN": "x", "VERIFIER_TOKEN_FILE": "y"}, "both"),
        ({"VERIFIER_CA_FILE": "x", "VERIFIER_CLIENT_CERT": "x"}, "belong together"),
        ({"VERIFIER_CLIENT_CERT": "x", "VERIFIER_CLIENT_KEY": "y"}, "VERIFIER_CA_FILE is not"),
        ({"VERIFIER_SERVER_NAME": "x"}, "VERIFIER_CA_FILE is not"),
    ],
)
def test_what_contradicts_itself_is_an_error(env, text):
    with pytest.raises(ConfigError, match=text):
        Credentials.from_env(env)


@pytest.mark.parametrize(
    "target", ["10.0.0.1:1", "dns:///gateway:50051", "ipv4:127.0.0.1:1,10.0.0.1:1", "gateway:1"]
)
async def test_a_token_does_not_leave_the_machine_in_the_clear(target):
    with pytest.raises(ConfigError, match="in the clear"):
        open_channel(target, (), Credentials(token=TOKEN))
    accepted = open_channel(target, (), Credentials(token=TOKEN, insecure_token=True))
    await accepted.close()


@pytest.mark.parametrize(
    "target",
    [
        "127.0.0.1:1",
        "localhost:1",
        "[::1]:1",
        "unix:/x/s",
        "dns:///localhost:1",
        "ipv4:127.0.0.1:1",
    ],
)
async def test_on_this_machine_it_may(target):
    await open_channel(target, (), Credentials(token=TOKEN)).close()


async def test_files_that_cannot_be_read_are_named(tmp_path):
    gone = str(tmp_path / "gone")
    for credentials, text in (
        (Credentials(ca_file=gone), "VERIFIER_CA_FILE"),
        (Credentials(token_file=gone), "VERIFIER_TOKEN_FILE"),
    ):
        with pytest.raises(ConfigError, match=text):
            open_channel("localhost:1", (), credentials)
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(ConfigError, match="is empty"):
        open_channel("localhost:1", (), Credentials(token_file=str(empty)))


def test_a_token_is_not_in_the_text_of_an_object():
    assert TOKEN not in repr(Credentials(token=TOKEN))
