"""Targets: the backend sections that requests end in, and which of them a route needs.

A plain route ends in its service's section. One that does more has a section of its own, so that
what it does costs other requests nothing. Called by `table`, read by `backends` and `actions`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane.adapters.haproxy.quoting import name
from controlplane.domain.routing.compiling.choices import EVERY_VERSION, Choice
from controlplane.domain.routing.route import Route

NO_ROUTE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One backend section.

    Attributes:
        service: "" for answers without one; version: `*` is all of it.
        route: the one whose section it is; None is the service's own.
    """

    name: str
    service: str = ""
    version: str = EVERY_VERSION
    route: Route | None = None


@dataclass(slots=True)
class Targets:
    """Every target that is asked for."""

    found: dict[str, Target] = field(default_factory=dict)

    def of(self, choice: Choice) -> str:
        """Name of the section where requests of a choice go."""
        route = choice.route
        if not route.service or route.transform:
            # What cannot be done is refused, without a service behind it.
            return self._kept(Target(name=name("r", route.id), route=route))
        service = self._of_service(route.service, choice.version)
        if is_plain(route):
            return service
        own = name("r", route.id if choice.version == EVERY_VERSION else _with(route.id, choice))
        return self._kept(
            Target(name=own, service=route.service, version=choice.version, route=route)
        )

    def in_order(self) -> Iterable[Target]:
        """All of them by name."""
        return (self.found[name] for name in sorted(self.found))

    def _of_service(self, service: str, version: str) -> str:
        own = service_section(service, version)
        return self._kept(Target(name=own, service=service, version=version))

    def _kept(self, target: Target) -> str:
        return self.found.setdefault(target.name, target).name


def service_section(service: str, version: str) -> str:
    """Name of the section of a service, or of one version of it."""
    return name("s", service if version == EVERY_VERSION else f"{service}:{version}")


def is_plain(route: Route) -> bool:
    """Whether a route does nothing but choose a service."""
    more = (
        route.rewrite,
        route.request_headers,
        route.response_headers,
        route.queue,
        route.timeout_ms,
        route.retries,
    )
    return not any(one is not None for one in more) and not (
        route.authentication or route.transform
    )


def _with(text: str, choice: Choice) -> str:
    return f"{text}:{choice.version}"
