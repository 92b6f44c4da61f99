"""Changes of single policies: written, removed, taken from observing to enforcing.

Called by the API. Each is one audited change of the fleet, by compare-and-set (`fleets.edit`); a
policy that could not be carried out is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.errors import NotFound
from controlplane.domain.topology import Fleet
from controlplane.engine.fleet.change import Edit, Wish
from controlplane.engine.fleet.fleets import FleetChange, Fleets


@dataclass(frozen=True, slots=True)
class PolicyEdits:
    """The declared policies, by name."""

    fleets: Fleets

    @property
    def all(self) -> tuple[Policy, ...]:
        """Every declared policy, by name."""
        return self.fleets.current.fleet.policies

    def named(self, name: str) -> Policy:
        """One policy; NotFound."""
        return _named(self.fleets.current.fleet, name)

    async def write(self, policy: Policy, wish: Wish) -> FleetChange:
        """Declare a policy, or change it; Invalid when it could not be carried out."""

        def change(fleet: Fleet) -> Fleet:
            return _with(fleet, policy)

        return await self._edit("write", policy.name, change, wish)

    async def remove(self, name: str, wish: Wish) -> FleetChange:
        """Take a policy away; NotFound."""

        def change(fleet: Fleet) -> Fleet:
            return _without(fleet, _named(fleet, name))

        return await self._edit("remove", name, change, wish)

    async def set_mode(self, name: str, mode: Mode, wish: Wish) -> FleetChange:
        """Have a policy enforced, observed or neither; NotFound."""

        def change(fleet: Fleet) -> Fleet:
            return _with(fleet, replace(_named(fleet, name), mode=mode))

        return await self._edit(mode, name, change, wish)

    async def _edit(
        self, event: str, name: str, change: Callable[[Fleet], Fleet], wish: Wish
    ) -> FleetChange:
        return await self.fleets.edit(
            Edit(
                change=change,
                author=wish.author,
                event=event,
                subject=f"policy/{name}",
                reason=wish.reason,
                expected_generation=wish.expected_generation,
            )
        )


def _named(fleet: Fleet, name: str) -> Policy:
    for policy in fleet.policies:
        if policy.name == name:
            return policy
    raise NotFound("policy_not_found", f"there is no policy {name}: see signalbox policies list")


def _without(fleet: Fleet, policy: Policy) -> Fleet:
    kept = tuple(one for one in fleet.policies if one.name != policy.name)
    return replace(fleet, policies=kept)


def _with(fleet: Fleet, policy: Policy) -> Fleet:
    return replace(fleet, policies=(*_without(fleet, policy).policies, policy))
