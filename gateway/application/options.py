"""What an application's client is told at its start."""

from dataclasses import dataclass, field
from pathlib import Path

from controlplane.domain.health.ejection import Limits
from gateway.application.lease import FAILURES
from gateway.last_good.polling import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """One client.

    Attributes:
        urls: of the control planes' HTTP API, tried in turn; none goes by what is on disk.
        token_file: read before each call, so that a token may be rotated.
        name: of this process, 1..64 of A-Z a-z 0-9 . _ -; `signalbox status` shows it.
        group: the gateway group whose routes, region and weights hold for it.
        folder: where the last good configuration is kept; each process has its own.
        start_s: longest wait for the first configuration when there is none on disk.
        wait_s: of a long poll; report_s: between reports of outcomes.
        back_off_s, back_off_max_s: pause after a failed call, doubled up to the maximum.
        limits: when an instance goes and comes.
        failures: exceptions that count against an instance when they leave its block.
    """

    urls: tuple[str, ...]
    token_file: Path
    name: str
    group: str
    folder: Path
    start_s: float = 5.0
    wait_s: float = 30.0
    report_s: float = 10.0
    back_off_s: float = 0.2
    back_off_max_s: float = 5.0
    limits: Limits = field(default_factory=Limits)
    failures: tuple[type[Exception], ...] = FAILURES

    @property
    def source(self) -> Source:
        """Where its configuration comes from."""
        return Source(
            urls=self.urls,
            path="/v1/config",
            token_file=self.token_file,
            identity=f"{self.name};{self.group}",
            wait_s=self.wait_s,
            back_off_s=self.back_off_s,
            back_off_max_s=self.back_off_max_s,
        )
