"""The application's client: ask for an instance of a service as a gateway does.

    with Client(options) as signalbox:
        with signalbox.instance("tickets", key=user) as instance:
            answer = httpx.get(f"{instance.url}/seats", timeout=instance.timeout_s)
            instance.answered(answer.status_code)

`AsyncClient` is the same with `async with` around. Weights of data centres, clusters, standbys and
the service's way of choosing hold as on the gateways. An exception that leaves the block, or a
status 502, 503 or 504, counts against the instance; it is probed, left out and taken back without
the control plane. The last good configuration is kept on disk: a client starts and goes on while
the control plane is away.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self, TypeVar

from controlplane.domain.instances.placement import EVERY_VERSION
from gateway.application.lease import Lease
from gateway.application.options import ClientOptions
from gateway.application.retrying import Tries
from gateway.application.rotation import Wish
from gateway.application.session import Session
from gateway.routing import Answer, Question

T = TypeVar("T")


class AsyncClient:
    """For applications on asyncio."""

    def __init__(self, options: ClientOptions) -> None:
        self._session = Session(options)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start; a configuration is in use afterwards, if one is to be had within `start_s`."""
        await self._session.load()
        self._task = asyncio.create_task(self._session.run())
        try:
            await self._session.configured()
        except asyncio.CancelledError:
            await self._end()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Report what is left, and end."""
        await self._end()

    async def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def instance(
        self, service: str, *, key: str = "", version: str = EVERY_VERSION
    ) -> AbstractContextManager[Lease]:
        """An instance for one request (`with`, it does not wait); `key` is what to be sticky by.

        Raises:
            NotFound: no such service, or it has no endpoint.
            Retryable: there is no configuration yet.
        """
        return self._session.instance(service, Wish(key=key, version=version))

    def find(self, question: Question) -> Answer:
        """Which route a request gets, and which service and version by it."""
        return self._session.find(question)

    async def call(
        self,
        service: str,
        work: Callable[[Lease], Awaitable[T]],
        *,
        key: str = "",
        version: str = EVERY_VERSION,
    ) -> T:
        """Do work that may be repeated, on other instances while it fails.

        As often and as long as the service's `retry` and `timeout_ms` say; then the last failure
        is raised, or the last result returned.
        """
        tries = Tries(key=key, version=version, began_s=time.monotonic())
        while True:
            try:
                with self._session.instance(service, tries.wish) as lease:
                    result = await work(lease)
            except self._session.options.failures:
                if not tries.again(lease, time.monotonic()):
                    raise
            else:
                if not tries.again(lease, time.monotonic()):
                    return result

    @property
    def revision(self) -> int:
        """Revision of the configuration in use; 0 is none yet."""
        return self._session.directory.revision

    def out(self, service: str) -> frozenset[str]:
        """`ADDRESS:PORT` of the service's instances that get no requests now."""
        return self._session.directory.out(service)


class Client:
    """For applications with threads; a thread of its own keeps the picture right."""

    def __init__(self, options: ClientOptions) -> None:
        self._session = Session(options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._started = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="signalbox", daemon=True)

    def __enter__(self) -> Self:
        """Start; a configuration is in use afterwards, if one is to be had within `start_s`."""
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Report what is left, and end."""
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def instance(
        self, service: str, *, key: str = "", version: str = EVERY_VERSION
    ) -> AbstractContextManager[Lease]:
        """As `AsyncClient.instance`."""
        return self._session.instance(service, Wish(key=key, version=version))

    def find(self, question: Question) -> Answer:
        """As `AsyncClient.find`."""
        return self._session.find(question)

    def call(
        self,
        service: str,
        work: Callable[[Lease], T],
        *,
        key: str = "",
        version: str = EVERY_VERSION,
    ) -> T:
        """As `AsyncClient.call`."""
        tries = Tries(key=key, version=version, began_s=time.monotonic())
        while True:
            try:
                with self._session.instance(service, tries.wish) as lease:
                    result = work(lease)
            except self._session.options.failures:
                if not tries.again(lease, time.monotonic()):
                    raise
            else:
                if not tries.again(lease, time.monotonic()):
                    return result

    @property
    def revision(self) -> int:
        """Revision of the configuration in use; 0 is none yet."""
        return self._session.directory.revision

    def out(self, service: str) -> frozenset[str]:
        """`ADDRESS:PORT` of the service's instances that get no requests now."""
        return self._session.directory.out(service)

    def _work(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._run())

    async def _run(self) -> None:
        try:
            await self._session.load()
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.create_task(self._session.run())
            await self._session.configured()
        except OSError as error:
            self._failure = error
            return
        finally:
            self._started.set()
        await self._task
