"""How far an intent is on each data plane, from the receipts that planes give anyway.

Called by `intents` to know when load may move, and by the API for people.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.domain.intents.intent import Intent
from controlplane.engine.publishing.couriers import Courier, DeliveryState


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One data plane.

    Attributes:
        state: what its courier says of the newest snapshot.
        nodes: connected consumers; `done`: those of them that run the intent as it is now.
        waiting: names of the others, some of them.
    """

    plane: str
    state: DeliveryState
    nodes: int
    done: int
    waiting: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everybody who is connected has it."""
        return self.done == self.nodes


# Names that are shown of those that do not have it yet.
SHOWN = 10


async def progress(intent: Intent, couriers: Iterable[Courier]) -> tuple[Progress, ...]:
    """One for each data plane; an intent that is not published yet is done nowhere."""
    found = []
    for courier in couriers:
        nodes = [node for node in await courier.nodes() if node.connected]
        late = [
            node.name for node in nodes if not intent.published or node.revision < intent.published
        ]
        found.append(
            Progress(
                plane=courier.status.plane,
                state=courier.status.state,
                nodes=len(nodes),
                done=len(nodes) - len(late),
                waiting=tuple(sorted(late)[:SHOWN]),
            )
        )
    return tuple(found)
