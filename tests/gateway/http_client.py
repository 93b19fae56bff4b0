"""A plain HTTP client for tests, on the loop."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        return json.loads(self.body)


async def send(address: str, head: str, body: bytes = b"", headers: dict[str, str] | None = None):
    """An open connection on which a request was written: (reader, writer)."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 26)
    given = {
        "Host": "x",
        "Connection": "close",
        "Content-Length": str(len(body)),
        **(headers or {}),
    }
    lines = [head, *(f"{name}: {value}" for name, value in given.items() if value)]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    return reader, writer


async def receive(reader: asyncio.StreamReader) -> Answer:
    """The answer, read to its end."""
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Answer(int(first.split()[1]), headers, body)


async def request(address: str, head: str, body: bytes = b"", headers=None) -> Answer:
    """One request."""
    reader, writer = await send(address, head, body, headers)
    try:
        return await receive(reader)
    finally:
        writer.close()


async def get(address: str, path: str) -> Answer:
    """GET."""
    return await request(address, f"GET {path} HTTP/1.1")


async def post(address: str, path: str, body: Any, **headers: str) -> Answer:
    """POST of JSON, or of bytes as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"Content-Type": "application/json"}
    given.update({name.replace("_", "-"): value for name, value in headers.items()})
    return await request(address, f"POST {path} HTTP/1.1", data, given)


async def run_code(address: str, code: str, language: str = "python", **fields: Any) -> Answer:
    """POST /run_code."""
    return await post(address, "/run_code", {"code": code, "language": language, **fields})
