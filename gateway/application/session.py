"""What the asynchronous and the synchronous client have in common.

The tasks that keep the picture of the fleet right, and what a request does before and after it.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator

import structlog

from controlplane.domain.snapshot import ServiceEndpoints
from gateway.application.directory import Directory
from gateway.application.last_good import LastGood, configuration
from gateway.application.lease import Lease
from gateway.application.options import ClientOptions
from gateway.application.probing import Prober
from gateway.application.reporting import Reporter
from gateway.application.retry_account import Account
from gateway.application.rotation import Wish
from gateway.last_good.polling import Fetched, Poller
from gateway.routing import Answer, Question, answer

log = structlog.get_logger()


class Session:
    """One client's life. `run` works until it is cancelled; nothing else waits."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.directory = Directory(options.limits)
        self._file = LastGood(options.folder)
        self._poller = Poller(options.source, self._take)
        self._reporter = Reporter(options, self.directory.tally)
        self._prober: Prober | None = None
        # One for each service that has a budget; services are few, and come back.
        self._accounts: dict[str, Account] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def load(self) -> None:
        """Use what an earlier run left.

        Raises:
            OSError: the folder of the last good configuration cannot be used.
        """
        kept = await asyncio.to_thread(self._file.load, self.options.group)
        if kept is not None:
            self.directory.configure(kept)
            self._poller.tag = kept.tag

    async def run(self) -> None:
        """Keep the picture right until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._prober = Prober(self.directory, tasks)
                self._loop = asyncio.get_running_loop()
                if self.options.urls:
                    tasks.create_task(self._poller.run())
                    tasks.create_task(self._reporter.run())
                else:
                    # By what is on disk: instances are probed all the same.
                    await asyncio.Event().wait()
        finally:
            self._loop = None

    async def configured(self) -> None:
        """Wait until a configuration is in use, at most `start_s`."""
        if self.directory.revision:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.options.start_s):
                await self._poller.current.wait()

    @contextlib.contextmanager
    def instance(self, service: str, wish: Wish) -> Iterator[Lease]:
        """An instance for one request; what becomes of the block is what became of it.

        Raises:
            NotFound: no such service, or it has no endpoint.
            Retryable: there is no configuration yet.
        """
        found = self.directory.service(service)
        account = self._account(found)
        if account is not None and not wish.tried:
            account.put(found.retry.budget or 0.0)
        lease = Lease(instance=self.directory.take(service, wish), service=found, account=account)
        try:
            yield lease
        except BaseException as error:
            lease.raised(error, self.options.failures)
            raise
        finally:
            self._done(lease)

    def find(self, question: Question) -> Answer:
        """What becomes of a request, by the routes of the group."""
        return answer(self.directory.table, question, time.time())

    async def _take(self, new: Fetched) -> None:
        group = self.options.group
        made = await asyncio.to_thread(configuration, new.body, new.tag, new.revision, group)
        self.directory.configure(made)
        log.info("client.configured", revision=new.revision)
        try:
            await asyncio.to_thread(self._file.store, new.body, new.tag, new.revision)
        except OSError as error:
            log.error("client.not_stored", why=str(error))  # noqa: TRY400

    def _account(self, service: ServiceEndpoints) -> Account | None:
        if service.retry.budget is None:
            return None
        return self._accounts.setdefault(service.service, Account())

    def _done(self, lease: Lease) -> None:
        doubtful = self.directory.give_back(
            lease.service.service, lease.instance, lease.outcome, time.monotonic()
        )
        loop, prober = self._loop, self._prober
        if doubtful and loop is not None and prober is not None:
            # A loop that is just ending has nobody left to probe.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(prober.wake)
