"""Who may do what: roles, permissions, tokens and the audit entry.

One table decides for REST and ADS alike; `engine.access` looks tokens up and asks here.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class AccessRole(StrEnum):
    """Roles of tokens, from least to most."""

    VIEWER = "viewer"
    GATEWAY = "gateway"
    MONITOR = "monitor"
    OPERATOR = "operator"
    SCIENTIST = "scientist"
    ADMIN = "admin"


class Permission(StrEnum):
    """What a call needs."""

    READ = "read"
    READ_CONFIG = "read-config"
    SUBSCRIBE = "subscribe"
    SEND_SAMPLES = "send-samples"
    SEND_ALERTS = "send-alerts"
    OPERATE = "operate"
    MANAGE_MODELS = "manage-models"
    ADMINISTER = "administer"


PERMISSIONS: dict[AccessRole, frozenset[Permission]] = {
    AccessRole.VIEWER: frozenset({Permission.READ, Permission.READ_CONFIG}),
    AccessRole.GATEWAY: frozenset(
        {Permission.READ_CONFIG, Permission.SUBSCRIBE, Permission.SEND_SAMPLES}
    ),
    AccessRole.MONITOR: frozenset({Permission.SEND_ALERTS}),
    AccessRole.OPERATOR: frozenset(
        {
            Permission.READ,
            Permission.READ_CONFIG,
            Permission.SEND_SAMPLES,
            Permission.SEND_ALERTS,
            Permission.OPERATE,
        }
    ),
    AccessRole.SCIENTIST: frozenset(
        {Permission.READ, Permission.READ_CONFIG, Permission.MANAGE_MODELS}
    ),
    AccessRole.ADMIN: frozenset(Permission),
}


def allowed(role: AccessRole, permission: Permission) -> bool:
    """Whether a role carries a permission."""
    return permission in PERMISSIONS[role]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A stored token; the secret itself is never stored.

    Attributes:
        digest: SHA-256 of the secret, hexadecimal (secrets have 256 random bits, so no salt).
        node, group: for ADS, the only node id and gateway group it may speak for; None is any.
        expires_s, created_s: UTC epoch seconds.
        once: it ends with its first use that creates another token (the first start's token).
    """

    id: str
    name: str
    role: AccessRole
    digest: str
    created_s: float
    expires_s: float | None = None
    revoked_s: float | None = None
    node: str | None = None
    group: str | None = None
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is calling, after the check."""

    token_id: str
    name: str
    role: AccessRole


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One write: who, when, what, why, and the digests or short forms of before and after.

    Attributes:
        number: its place in the log, given by the log, ascending; 0 before.
    """

    time_s: float
    author: str
    action: str
    subject: str
    reason: str = ""
    before: str = ""
    after: str = ""
    number: int = field(default=0, compare=False)
