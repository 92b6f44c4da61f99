"""Which endpoints may get requests: by their states, and by the policy when all look dead.

Called by `judging`. What is healthy or forced is usable; an unknown one unless it joined others of
its cluster that were well already; of a cluster whose requests fail, the forced ones. When that
leaves nothing of a whole service, its declared policy says what is.
"""

import math
from collections.abc import Sequence

from controlplane.domain.health.picture import ClusterHealth, EndpointHealth, EndpointKey
from controlplane.domain.health.states import EndpointState
from controlplane.domain.services import AllDown

# What fell within this time before the last one is part of the same fall: endpoints of a dead
# service are seen to be dead one after the other.
SAME_FALL_S = 10.0
WELL = frozenset({EndpointState.HEALTHY, EndpointState.FORCED})


def by_state(cluster: ClusterHealth) -> frozenset[EndpointKey]:
    """Usable endpoints of a cluster by their states alone."""
    if cluster.failing:
        return _of(cluster.endpoints, frozenset({EndpointState.FORCED}))
    # Those that came together are judged one after the other: being later is no evidence.
    first_s = min((one.since_s for one in cluster.endpoints if one.state in WELL), default=math.inf)
    unjudged = (
        one.key
        for one in cluster.endpoints
        if one.state is EndpointState.UNKNOWN and one.since_s <= first_s
    )
    return _of(cluster.endpoints, WELL).union(unjudged)


def when_all_down(policy: AllDown, endpoints: Sequence[EndpointHealth]) -> frozenset[EndpointKey]:
    """Usable endpoints of a service of which none looks well.

    What an operator drains is never used; what its requests alone put out counts as fallen.
    """
    there = [one for one in endpoints if one.state is not EndpointState.DRAINING]
    if policy is AllDown.CLOSED:
        return frozenset()
    if policy is AllDown.OPEN:
        return frozenset(one.key for one in there)
    last_s = max((one.since_s for one in there), default=0.0)
    return frozenset(
        one.key for one in there if one.state in WELL or last_s - one.since_s <= SAME_FALL_S
    )


def all_drained(endpoints: Sequence[EndpointHealth]) -> bool:
    """Whether an operator took all of them out: that is no fall. True without any."""
    return all(one.state is EndpointState.DRAINING for one in endpoints)


def _of(
    endpoints: Sequence[EndpointHealth], states: frozenset[EndpointState]
) -> frozenset[EndpointKey]:
    return frozenset(one.key for one in endpoints if one.state in states)
