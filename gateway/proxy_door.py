"""The port of the agent's own proxy, with the configuration that it goes by.

Made by `admission_agent`. Endpoints, weights and routes are those of `/v1/config`, as the
application's client has them: the last good ones are on disk, and instances that fail are left out.
"""

from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge

from controlplane.domain.admission.asking import Asked
from gateway.admission.enforcing import Answer
from gateway.admission.judging import Judge
from gateway.application.options import ClientOptions
from gateway.application.session import Session
from gateway.last_good.polling import Source
from gateway.options import Place
from gateway.proxy.fetching import Fetcher
from gateway.proxy.forwarding import FAILURES
from gateway.proxy.options import ProxyOptions
from gateway.proxy.proxy import Proxy
from gateway.proxy.upstreams import Upstreams


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyDoorOptions:
    """Where clients connect.

    Attributes:
        source: where the configuration is polled; None goes by what is on disk.
        folder: where the last good one is kept.
    """

    listen: Place
    name: str
    group: str
    folder: Path
    source: Source | None = None
    region: str = ""
    proxy: ProxyOptions = field(default_factory=ProxyOptions)


class ProxyDoor:
    """One port."""

    def __init__(self, options: ProxyDoorOptions, registry: CollectorRegistry) -> None:
        self._options = options
        self._session = Session(_client_options(options))
        upstreams = Upstreams(options.proxy)
        self._fetcher = Fetcher(self._session, upstreams)
        self._upstreams = upstreams
        self._proxy: Proxy | None = None
        self._answers = Counter(
            "signalbox_agent_proxied_total",
            "Answers of the agent's own proxy.",
            ("status",),
            registry=registry,
        )
        connections = Gauge(
            "signalbox_agent_proxy_connections",
            "Connections of clients to the agent's own proxy.",
            registry=registry,
        )
        connections.set_function(lambda: 0 if self._proxy is None else self._proxy.connections)

    @property
    def revision(self) -> int:
        """Revision of the configuration in force; 0 is none."""
        return self._session.directory.revision

    async def fetch(self, asked: Asked) -> Answer:
        """A service's whole answer for policies that keep answers; see `proxy.fetching`."""
        return await self._fetcher.fetch(asked)

    async def start(self, judge: Judge) -> int:
        """Listen and return the port.

        Raises:
            OSError: the address cannot be had, or the folder cannot be used.
        """
        await self._session.load()
        options = self._options
        self._proxy = Proxy(
            self._session, judge.rule_asked, options.proxy, options.region, self._upstreams
        )
        self._proxy.told = lambda: judge.told
        self._proxy.counted = lambda status: self._answers.labels(str(status)).inc()
        return await self._proxy.start(*options.listen)

    async def run(self) -> None:
        """Keep the configuration right until cancelled."""
        await self._session.run()

    async def stop(self) -> None:
        """Let requests under way end, take no new ones."""
        if self._proxy is not None:
            await self._proxy.stop()


def _client_options(options: ProxyDoorOptions) -> ClientOptions:
    source = options.source
    return ClientOptions(
        urls=() if source is None else source.urls,
        token_file=options.folder / "token" if source is None else source.token_file,
        name=options.name,
        group=options.group,
        folder=options.folder,
        failures=FAILURES,
    )
