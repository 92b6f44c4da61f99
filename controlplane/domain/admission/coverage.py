"""What an agent would be asked about on a route, and what holds there while it does not answer.

Used by adapters that tell a proxy. Regions are not looked at: a gateway knows only at its request
where it comes from.
"""

from collections.abc import Iterable

from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.routing.callers.authorization import declared_id
from controlplane.domain.routing.route import Route


def asked_about(policy: Policy, route: Route) -> bool:
    """Whether some requests of a route are asked about; also by one that only observes."""
    attached = policy.attachment
    return (
        policy.mode is not Mode.OFF
        and (not attached.routes or declared_id(route) in attached.routes)
        and (not attached.services or route.service in attached.services)
    )


def declares_away(policies: Iterable[Policy]) -> bool:
    """Whether a policy in force says what holds while the agent is away."""
    return any(one.mode is Mode.ENFORCE and one.when_away is not None for one in policies)


def away_on(policies: Iterable[Policy], route: Route) -> WhenAway | None:
    """What holds on a route while the agent is away; None leaves it to the gateway group.

    One policy that refuses is enough to refuse. To admit, each that is enforced there must say so:
    one that says nothing goes by its group.
    """
    said = {
        policy.when_away
        for policy in policies
        if policy.mode is Mode.ENFORCE and asked_about(policy, route)
    }
    if WhenAway.REFUSE in said:
        return WhenAway.REFUSE
    return WhenAway.ADMIT if said == {WhenAway.ADMIT} else None
