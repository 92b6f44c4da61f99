"""The way to Redis: atomic scripts, each with a deadline, and a door that shuts when it is away.

Used by everything in `gateway.state.redis`. A Redis that is gone or hangs costs the first few
calls their deadline and the others nothing: the door is shut, every call fails at once, and it is
opened again by a task that has had answers in time. No call of a client ever tries that. A Redis
that answers with an error is there: that costs no time, and may be about this one key, so the door
stays open.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, OutOfMemoryError, RedisError, ResponseError

from controlplane.domain.errors import Retryable
from gateway.state.redis.script import Argument, Part, Script, parts

log = structlog.get_logger()
# Errors may come with every call; one in so long is said.
SAID_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisOptions:
    """Where Redis is, and how long it may take.

    Attributes:
        url: `redis://HOST:PORT/DB`, `rediss://` with TLS, or `unix://PATH`.
        password: "" is none.
        deadline_s: of each call, with the connection that it may have to make.
        failures: so many calls in a row shut the door.
        pause_s: between two tries of opening it.
        connections: at most.
    """

    url: str
    password: str = ""
    deadline_s: float = 0.02
    failures: int = 3
    pause_s: float = 0.25
    connections: int = 32


class RedisLink:
    """One Redis."""

    def __init__(self, options: RedisOptions) -> None:
        self._options = options
        self._redis = Redis(connection_pool=_pool(options))
        self._failed = 0
        self._said_s = float("-inf")
        self._healing: asyncio.Task[None] | None = None
        self._hearing: list[asyncio.Task[None]] = []

    @property
    def away(self) -> bool:
        """The door is shut."""
        return self._healing is not None

    async def run(
        self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]
    ) -> Sequence[Part]:
        """The answer of a script; nothing else happens in Redis while it runs.

        Raises:
            Retryable: `shared_state_away`: no answer in time, or the door is shut. Whether the
                script ran is unknown. `shared_state_full`: no room to write.
                `shared_state_refused`: another error, as where a key holds what somebody else
                wrote.
        """
        if self._healing is not None:
            raise _away("it did not answer lately", self._options.pause_s)
        try:
            async with asyncio.timeout(self._options.deadline_s):
                answer = await self._evaluated(script, keys, arguments)
        except ResponseError as error:
            self._failed = 0
            raise self._refused(error) from error
        except (RedisError, OSError, TimeoutError) as error:
            self._fail(error)
            raise _away(_words(error), self._options.pause_s) from error
        self._failed = 0
        return parts(answer)

    def subscribe(self, channel: str, heard: Callable[[bytes], None]) -> None:
        """Hear what is published on a channel, until `close`.

        Args:
            heard: is told each message, and b"" when some may have been missed.
        """
        self._hearing.append(asyncio.create_task(self._hear(channel, heard)))

    async def close(self) -> None:
        """End the connections."""
        for task in self._hearing:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._healing is not None:
            self._healing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._healing
        await self._redis.aclose()
        await self._redis.connection_pool.disconnect()

    async def _hear(self, channel: str, heard: Callable[[bytes], None]) -> None:
        while True:
            # A connection of its own: it waits for as long as nothing is said.
            listener = Redis(connection_pool=_pool(replace(self._options, connections=1)))
            with contextlib.suppress(RedisError, OSError):
                async with contextlib.aclosing(listener), listener.pubsub() as hearing:
                    await hearing.subscribe(channel)
                    heard(b"")
                    async for message in hearing.listen():
                        if message["type"] == "message":
                            heard(message["data"])
            await asyncio.sleep(self._options.pause_s)
            heard(b"")

    async def _evaluated(
        self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]
    ) -> object:
        answer: object
        try:
            answer = await self._redis.evalsha(script.sha, len(keys), *keys, *arguments)
        except NoScriptError:
            # A Redis that has restarted knows no scripts.
            answer = await self._redis.eval(script.text, len(keys), *keys, *arguments)
        return answer

    def _refused(self, error: ResponseError) -> Retryable:
        full = isinstance(error, OutOfMemoryError)
        refused = Retryable(
            "shared_state_full" if full else "shared_state_refused",
            f"shared state answered with an error: {_words(error)}",
            after_s=self._options.pause_s,
        )
        if time.monotonic() >= self._said_s + SAID_S:
            self._said_s = time.monotonic()
            log.warning("shared_state.refused", code=refused.code, why=_words(error))
        return refused

    def _fail(self, error: Exception) -> None:
        self._failed += 1
        if self._failed >= self._options.failures and self._healing is None:
            log.warning("shared_state.away", why=_words(error))
            self._healing = asyncio.create_task(self._heal())

    async def _heal(self) -> None:
        while True:
            await asyncio.sleep(self._options.pause_s)
            # The connection is made by the first, which may take longer; the second is measured.
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                async with asyncio.timeout(self._options.pause_s):
                    await self._redis.ping()
                async with asyncio.timeout(self._options.deadline_s):
                    await self._redis.ping()
                self._failed, self._healing = 0, None
                log.info("shared_state.back")
                return


def _pool(options: RedisOptions) -> BlockingConnectionPool:
    return BlockingConnectionPool.from_url(
        options.url,
        password=options.password or None,
        max_connections=options.connections,
        timeout=None,
        # The deadline of a call bounds all of it, so the library keeps no time of its own.
        socket_timeout=None,
        socket_connect_timeout=None,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
        driver_info=None,
    )


def _away(why: str, after_s: float) -> Retryable:
    return Retryable("shared_state_away", f"shared state is away: {why}", after_s=after_s)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
