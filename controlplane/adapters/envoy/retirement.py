"""Clusters that are on their way out.

Called by `plane`. Envoy drops a removed cluster at once and answers 503 where a route still names
it. So routes leave first, and what they no longer name is served a little longer.
"""

from collections.abc import Iterable

from controlplane.adapters.envoy.resource_sets import is_regional
from controlplane.domain.xds import ResourceType

Part = tuple[str, bytes]

# What a route needs; listeners and routes themselves may go at once.
KEPT = (f"{ResourceType.CLUSTER}/", f"{ResourceType.ENDPOINT}/")


def retiring(before: Iterable[Part], after: Iterable[Part]) -> tuple[Part, ...]:
    """Clusters and assignments that are served now and are not in the new configuration."""
    names = {name for name, _ in after}
    return tuple(
        (name, data)
        for name, data in before
        # A region's own endpoints hide those of all: they go with the weights.
        if name.startswith(KEPT) and name not in names and not is_regional(name)
    )
