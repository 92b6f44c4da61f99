"""A data centre's machines: so many workers behind one queue, whatever port a request comes by.

`python bounded_backend.py NAME WORKERS SERVICE_S PORT...` answers with its name. Health checks are
answered at once.
"""

import asyncio
import sys


async def main(name: str, workers: int, service_s: float, ports: list[int]) -> None:
    free = asyncio.Semaphore(workers)
    body = name.encode()
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if not head.startswith(b"GET /healthz"):
                    async with free:
                        await asyncio.sleep(service_s)
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    servers = [await asyncio.start_server(connection, "127.0.0.1", port) for port in ports]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    _, name_, workers_, service_s_, *ports_ = sys.argv
    asyncio.run(main(name_, int(workers_), float(service_s_), [int(one) for one in ports_]))
