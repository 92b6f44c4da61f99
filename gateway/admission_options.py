"""What the admission agent is told at its start.

Made by `run_command` from the command line.
"""

from dataclasses import dataclass, field
from pathlib import Path

from gateway.admission.judging import Known
from gateway.forward_auth.door import DoorOptions
from gateway.last_good.polling import Source
from gateway.options import Place
from gateway.proxy_door import ProxyDoorOptions
from gateway.state.redis.link import RedisOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionOptions:
    """One agent that enforces policies.

    Attributes:
        name: of this agent, different from that of every other one.
        group: its gateway group.
        folder: where the last good policies and routes are kept.
        policies, routes: where they are polled; None goes by what is on disk.
        door: where proxies ask; None is nowhere.
        proxy: where clients connect to the agent's own proxy; None is nowhere.
        status: where `/metrics`, `/healthz` and `/readyz` are.
        redis: what several agents share; None remembers alone.
        ticket_key: private key (PEM) of session queues' tickets; b"" is one of the shared state.
        stop_s: longest wait for a graceful stop.
    """

    name: str
    group: str
    folder: Path
    policies: Source | None = None
    routes: Source | None = None
    door: DoorOptions | None = None
    proxy: ProxyDoorOptions | None = None
    status: Place = ("127.0.0.1", 18002)
    redis: RedisOptions | None = None
    ticket_key: bytes = b""
    known: Known = field(default_factory=Known)
    stop_s: float = 10.0
