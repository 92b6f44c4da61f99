"""What health needs from outside: checks of endpoints, and a place for the last picture."""

from typing import Protocol

from controlplane.domain.health.picture import EndpointKey, Health
from controlplane.domain.services import HealthCheck


class Checker(Protocol):
    """One kind of active check."""

    async def check(self, endpoint: EndpointKey, check: HealthCheck) -> str:
        """Probe once: "" when it passed, else why it failed, in a few words. Never raises, and
        ends within the check's timeout."""


class HealthStore(Protocol):
    """The last picture, for the next start."""

    async def load(self) -> Health | None:
        """The picture that was kept last; None before the first."""

    async def keep(self, health: Health) -> None:
        """Keep a picture in place of the last one."""
