"""A client that speaks HTTP/2 frame by frame, to do what no gRPC library does.

It sends half a message, or acknowledges everything and takes nothing.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events

from verifier.gateway.health import SERVICE


@dataclass
class Http2Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    connection: h2.connection.H2Connection
    trailers: dict[int, dict[str, str]] = field(default_factory=dict)
    data_bytes: int = 0
    closed: bool = False

    @classmethod
    async def connect(cls, address: str) -> Http2Client:
        if address.startswith("unix:"):
            streams = await asyncio.open_unix_connection(address.removeprefix("unix:"))
        else:
            host, _, port = address.rpartition(":")
            streams = await asyncio.open_connection(host, int(port))
        connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        connection.initiate_connection()
        client = cls(*streams, connection)
        client.flush()
        return client

    def flush(self) -> None:
        self.writer.write(self.connection.data_to_send())

    def call(self, method: str, *, metadata: dict[str, str] | None = None) -> int:
        """Open a call; its number."""
        stream = self.connection.get_next_available_stream_id()
        head = {
            ":method": "POST",
            ":scheme": "http",
            ":path": f"/{SERVICE}/{method}",
            ":authority": "x",
            "content-type": "application/grpc",
            "te": "trailers",
        }
        self.connection.send_headers(stream, [*head.items(), *(metadata or {}).items()])
        self.flush()
        return stream

    def send(self, stream: int, message: bytes, size: int | None = None) -> None:
        """A message, of which the head says that it has `size` bytes."""
        data = b"\0" + struct.pack("!I", len(message) if size is None else size) + message
        self.connection.send_data(stream, data)
        self.flush()

    async def next(self) -> bool:
        """Take what came, and give no window back for it; False at the end."""
        data = await self.reader.read(65536)
        if not data:
            self.closed = True
            return False
        for event in self.connection.receive_data(data):
            if isinstance(event, h2.events.TrailersReceived):
                self.trailers[event.stream_id] = dict(event.headers)
            elif isinstance(event, h2.events.ResponseReceived):
                head = dict(event.headers)
                if "grpc-status" in head:
                    self.trailers[event.stream_id] = head
            elif isinstance(event, h2.events.DataReceived):
                self.data_bytes += len(event.data)
        self.flush()
        return True

    async def status(self, stream: int) -> tuple[int, str]:
        """Wait for the call's end; its gRPC status and message."""
        while stream not in self.trailers:
            if not await self.next():
                raise ConnectionResetError
        found = self.trailers[stream]
        return int(found["grpc-status"]), found.get("grpc-message", "")

    async def until_closed(self) -> None:
        """Wait until the other side closes the connection."""
        while await self.next():
            pass

    def close(self) -> None:
        self.writer.close()
