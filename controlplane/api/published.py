"""What is published now, or the error that says what is missing.

Called by the resources that answer from the newest snapshot.
"""

from controlplane.domain.errors import NotFound, Retryable
from controlplane.domain.snapshot import Snapshot


def known(snapshot: Snapshot | None) -> Snapshot:
    """The snapshot itself; Retryable `no_snapshot` before the first."""
    if snapshot is None:
        raise Retryable(
            "no_snapshot", "nothing is published yet; declare a fleet, or ask again in a moment"
        )
    return snapshot


def group_names(snapshot: Snapshot) -> list[str]:
    """The gateway groups of a snapshot."""
    return [group.name for group in snapshot.content.routes.gateways]


def check_group(snapshot: Snapshot, name: str) -> None:
    """Raise NotFound when a snapshot has no such gateway group."""
    names = group_names(snapshot)
    if name not in names:
        raise NotFound(
            "gateway_group_not_found",
            f"there is no gateway group {name}; declared are {', '.join(names) or 'none'}",
        )
