"""What one tick computes: who is decided now and why, all decisions, the state that they ask for.

Pure; called by `loop`, the long part in a thread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controlplane.domain.decisions import Decision, Trigger
from controlplane.domain.findings import Observation
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.deciding.cycle import Facts
from controlplane.engine.deciding.faults import Fault
from controlplane.engine.deciding.rulings import bereft, rule
from controlplane.engine.pokes import Poke
from controlplane.engine.reconciling.desired import Desired, desired


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """What came of a tick, not published yet.

    Attributes:
        made: decisions that are in `desired`.
        faults: services that could not be decided; those that could not be built are in `desired`.
        pools: which pools are too full all the same.
    """

    made: list[Decision]
    faults: list[Fault]
    pools: tuple[Observation, ...]
    desired: Desired


def triggers_of(facts: Facts, pokes: Sequence[Poke]) -> dict[str, Trigger]:
    """Service -> why it is decided now; the alarm outranks the timer.

    An operator's poke decides nothing by itself: it rebuilds the snapshot, and the strategy of a
    service speaks at its next cycle. Only who loses a data centre and has a reserve is decided.
    """
    names = [service.name for service in facts.fleet.services]
    triggers: dict[str, Trigger] = {}
    if any(poke.trigger is Trigger.OPERATOR for poke in pokes):
        triggers = dict.fromkeys(bereft(facts), Trigger.OPERATOR)
    for wanted in (Trigger.TIMER, Trigger.ALARM):
        for poke in pokes:
            if poke.trigger is wanted:
                chosen = names if poke.services is None else poke.services.intersection(names)
                triggers.update(dict.fromkeys(chosen, wanted))
    return triggers


def computed(facts: Facts, triggers: Mapping[str, Trigger], published: Snapshot | None) -> Computed:
    """Everything of a tick that only computes; law 8: a service that fails holds its shares."""
    ruled = rule(facts, triggers)
    wanted = desired(facts, ruled.made, published)
    # What is not in the snapshot is not in force.
    absent = {fault.service for fault in wanted.faults}
    made = [decision for decision in ruled.made if decision.service not in absent]
    return Computed(made=made, faults=ruled.faults, pools=ruled.pools, desired=wanted)
