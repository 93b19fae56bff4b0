"""The HTTP side's numbers, over a real gateway; and streams that nobody reads."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.telemetry.gateways import world
from tests.telemetry.test_metrics import samples
from verifier.errors import InfraError
from verifier.gateway.http import OPEN_PATHS
from verifier.gateway.status import Listeners


async def get(address: str, path: str, data: bytes | None = None) -> tuple[int, Any, bytes]:
    def ask() -> tuple[int, Any, bytes]:
        headers = {} if data is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{address}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    return await asyncio.to_thread(ask)


async def scraped(address: str) -> dict[Any, float]:
    status, headers, body = await get(address, "/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return samples(body)


async def event(reader: asyncio.StreamReader) -> dict[str, Any]:
    """The next message of /events."""
    return json.loads((await reader.readuntil(b"\n\n")).partition(b"data: ")[2])


def of(name: str, **labels: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    return name, tuple(sorted(labels.items()))


async def test_metrics_tell_of_every_way_a_request_can_end():
    async with world(max_queue=64) as gateway:
        await gateway.score("1\n", "2\n")
        await gateway.score("1\n", wrong=True)
        await gateway.score("1\n", response="I cannot.")
        await gateway.score("1\n", ground_truth={"inputs": ["1\n"], "outputs": []})
        with pytest.raises(Exception, match="extraction_policy"):
            await gateway.score("1\n", extraction_policy="nonsense")
        await gateway.score("fault\n")
        await gateway.score("1\n", wrong=True)
        await gateway.client.run("print(1)", language="python", stdin="1\n")
        await gateway.client.info()
        body = json.dumps({"code": "print(1)", "language": "python"}).encode()
        assert (await get(gateway.http, "/run_code", body))[0] == 200
        assert (await get(gateway.http, "/nothing/here", body))[0] == 404
        there = await scraped(gateway.http)
    assert there[of("verifier_requests_total", method="Score", code="OK")] == 6
    assert there[of("verifier_requests_total", method="Score", code="INVALID_ARGUMENT")] == 1
    assert there[of("verifier_requests_total", method="Run", code="OK")] == 1
    assert there[of("verifier_requests_total", method="GetInfo", code="OK")] == 1
    assert there[of("verifier_requests_total", method="POST /run_code", code="200")] == 1
    # A path that somebody made up is no label.
    assert there[of("verifier_requests_total", method="POST other", code="404")] == 1
    assert not any("nothing" in str(key) for key in there)
    scored = "verifier_responses_total"
    assert there[of(scored, outcome="SCORED", status="ACCEPTED")] == 1
    assert there[of(scored, outcome="SCORED", status="NO_CODE")] == 1
    assert there[of(scored, outcome="INVALID_SUITE", status="")] == 1
    assert there[of(scored, outcome="INFRA_ERROR", status="")] == 1
    assert there[of("verifier_infra_faults_total", cause="slot")] == 1
    assert there[of("verifier_slot_faults_total")] == 2
    assert there[of("verifier_slots_replaced_total")] >= 1
    assert there[of("verifier_cache_hits_total", cache="suites")] >= 1
    assert there[of("verifier_run_cpu_seconds_count", language="python", status="ACCEPTED")] == 4
    assert there[of("verifier_ready")] == 1
    assert there[of("verifier_held_requests")] == 0


async def test_each_request_of_a_stream_is_counted_with_its_code():
    from verifier.client import ScoreCall

    async with world() as gateway:
        calls = [
            ScoreCall("```python\nprint(input())\n```", {"inputs": ["1\n"], "outputs": ["1\n"]}),
            ScoreCall("x", {"inputs": ["1\n"], "outputs": ["1\n"]}, extraction_policy="nonsense"),
        ]
        results = await gateway.client.score_many(calls)
        assert results[1].error.startswith("RequestError")
        there = await scraped(gateway.http)
    assert there[of("verifier_requests_total", method="ScoreStream", code="OK")] == 1
    assert there[of("verifier_requests_total", method="ScoreStream", code="INVALID_ARGUMENT")] == 1


async def test_a_full_queue_is_refused_counted_and_shown():
    async with world(max_queue=1) as gateway:
        gate = asyncio.Event()
        engine = gateway.gateway._engine
        engine.sandbox._hang_runs[1] = gate
        first = asyncio.ensure_future(gateway.score("1\n"))
        while not engine.load().running:
            await asyncio.sleep(0)
        there = await scraped(gateway.http)
        assert there[of("verifier_held_requests")] == 1
        assert there[of("verifier_slots", state="busy")] == 1
        with pytest.raises(InfraError):
            await gateway.score("2\n", deadline_s=0.05)
        gate.set()
        await first
        there = await scraped(gateway.http)
        status = json.loads((await get(gateway.http, "/status.json"))[2])
    refused = of("verifier_requests_total", method="Score", code="RESOURCE_EXHAUSTED")
    assert there[refused] >= 1
    assert there[of("verifier_infra_faults_total", cause="overloaded")] == there[refused]
    assert status["totals"]["verdicts"]["REFUSED"] == there[refused]
    assert "OverloadedError" in status["failures"][0]["summary"]


async def test_the_page_is_served_with_headers_that_bind_it():
    async with world() as gateway:
        for path in sorted(OPEN_PATHS - {"/healthz", "/readyz"}):
            status, headers, body = await get(gateway.http, path)
            assert status == 200
            assert headers["X-Content-Type-Options"] == "nosniff"
            policy = headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'")
            assert "unsafe" not in policy
            assert "http" not in policy
            # No resource of another origin, and no code or style that the policy would refuse.
            for mark in (b"https://", b"http://", b" style=", b" onclick=", b"<style"):
                assert mark not in body.replace(b"http://www.w3.org/2000/svg", b""), (path, mark)
        assert (await get(gateway.http, "/failures/99"))[0] == 404
        assert (await get(gateway.http, "/failures/x"))[0] == 404


async def test_events_begin_with_the_whole_and_go_on_each_second():
    async with world(page_listeners=1) as gateway:
        await gateway.score("crash\n")
        host, _, port = gateway.http.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 20)
        writer.write(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" in await reader.readline()
        first = await event(reader)
        assert "history" in first
        assert len(first["failures"]) == 1
        # Another one is refused: so many listen at once, no more.
        assert (await get(gateway.http, "/events"))[0] == 503
        await gateway.score("crash\n", request_id="live")
        message = await event(reader)
        while not any(failure["request_id"] == "live" for failure in message["failures"]):
            message = await event(reader)
        assert "point" in message
        writer.close()
        while len(gateway.gateway._pages.listeners):
            await asyncio.sleep(0)
        there = await scraped(gateway.http)
        assert there[of("verifier_page_listeners")] == 0


async def test_a_shutdown_does_not_wait_for_listeners():
    async with world() as gateway:
        host, _, port = gateway.http.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 20)
        writer.write(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"data: ")
    await reader.read()  # to its end
    writer.close()


async def test_a_listener_that_does_not_read_is_dropped():
    listeners = Listeners(4)
    sent: list[bytes] = []
    stuck = asyncio.Event()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))
        if len(sent) == 2:  # the headers went, and then nobody reads any more
            stuck.set()
            await asyncio.Event().wait()

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    serving = asyncio.ensure_future(listeners.stream(b"first", receive, send))
    await stuck.wait()
    for number in range(8):
        listeners.publish(b"%d" % number)
    assert len(listeners) == 1
    listeners.publish(b"one too many")
    assert len(listeners) == 0
    assert listeners.dropped == 1
    await serving
    assert sent == [b"", b"first"]


async def test_nobody_listens_once_it_is_closed():
    listeners = Listeners(4)
    listeners.close()
    assert listeners.full
