"""The server that a command talks to: what `connection` finds out and `client` calls."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The server's base address and the caller's token; no token is a call without one."""

    url: str
    token: str | None = field(default=None, repr=False)
