"""Where tokens are asked for: what is open, what is counted, and whose request it was."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request

import pytest

from tests.telemetry.gateways import world
from verifier.errors import AuthenticationError

TOKEN = "t" * 40


def get(url: str, token: str = "") -> tuple[int, bytes]:
    request = urllib.request.Request(url)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"trainer-a {TOKEN}\n")
    path.chmod(0o600)
    return path


async def test_the_page_is_open_and_its_data_is_not(tokens):
    async with world(tokens=tokens) as here:
        for path in ("/", "/healthz", "/readyz"):
            assert (await asyncio.to_thread(get, f"http://{here.http}{path}"))[0] == 200
        for path in ("/metrics", "/status.json", "/events"):
            assert (await asyncio.to_thread(get, f"http://{here.http}{path}"))[0] == 401
        assert (await asyncio.to_thread(get, f"http://{here.http}/metrics", TOKEN))[0] == 200


async def test_refused_calls_are_counted_by_methods_of_ours(tokens):
    async with world(tokens=tokens) as here:
        with pytest.raises(AuthenticationError):
            await here.score("1")
        with pytest.raises(AuthenticationError):
            await here.client.info()
        await asyncio.to_thread(get, f"http://{here.http}/status.json", "wrong")
        _, text = await asyncio.to_thread(get, f"http://{here.http}/metrics", TOKEN)
    counted = [
        line for line in text.decode().splitlines() if "UNAUTHENTICATED" in line and "total" in line
    ]
    assert {line.split('method="')[1].split('"')[0] for line in counted} == {
        "Score", "GetInfo", "HTTP",
    }  # fmt: skip


async def test_a_request_is_the_tokens_whatever_it_calls_itself(tokens, monkeypatch):
    monkeypatch.setenv("VERIFIER_TOKEN", TOKEN)
    async with world(client_id="somebody-else", tokens=tokens) as here:
        assert (await here.score("1", wrong=True)).score == 0.0
        _, body = await asyncio.to_thread(get, f"http://{here.http}/status.json", TOKEN)
    assert "trainer-a" in json.dumps(json.loads(body))
    assert b"somebody-else" not in body
