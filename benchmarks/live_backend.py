"""A small HTTP server that answers with its name, as a process that can be killed.

Started by `benchmarks.live_envoy` as a child; no benchmark of its own, so not to be started by
name (`make bench` starts every module that can be).
"""

import asyncio
import sys

READ_LIMIT_BYTES = 65_536


async def serve(name: str, ports: list[int]) -> None:
    """Answer every request on loopback with the name until the process is killed."""
    body = name.encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                await _skip_body(reader, request)
                writer.write(head + (b"" if request.startswith(b"HEAD") else body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    for port in ports:
        await asyncio.start_server(answer, "127.0.0.1", port, limit=READ_LIMIT_BYTES)
    print("ready", flush=True)
    await asyncio.Event().wait()


async def _skip_body(reader: asyncio.StreamReader, request: bytes) -> None:
    for line in request.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.partition(b":")[2]))


def run() -> None:
    """Serve as the command line says: NAME PORT..."""
    asyncio.run(serve(sys.argv[1], [int(port) for port in sys.argv[2:]]))
