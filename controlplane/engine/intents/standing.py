"""The intents that stand, in memory, and what they make of a snapshot: what the loop reads.

Filled by `intents`. The loop decides and builds as if there were no intents, and lets them
be put over the result right before it is published; what it counts as in force is what stands
below them.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from controlplane.domain import snapshot as snapshots
from controlplane.domain.instances.marking import Out, marked
from controlplane.domain.intents.demands import Down, nothing_down
from controlplane.domain.intents.grounding import grounded
from controlplane.domain.intents.intent import Intent, IntentKind
from controlplane.domain.intents.overlay import Overlay, overlaid
from controlplane.domain.intents.scope import holds
from controlplane.domain.snapshot import Content, Snapshot
from controlplane.domain.topology import Fleet

NOBODY: Out = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """What has been published.

    Attributes:
        base: the content without intents.
        changes: numbers of the last changes of the intents that are in it.
        now_s: the time that it was made for.
    """

    snapshot: Snapshot
    base: Content
    changes: frozenset[int]
    now_s: float


@dataclass(slots=True)
class Standing:
    """The standing intents, and the contents that rollbacks among them publish.

    Attributes:
        intents: by number.
        earlier: revision -> content.
        down: whether a service is down in a data centre.
        out: endpoints that health takes out, by service.
        told: called with what is in force after each publication.
        refresh: reads the intents again that another process has changed.
    """

    intents: tuple[Intent, ...] = ()
    earlier: Mapping[int, Content] = field(default_factory=dict)
    down: Down = nothing_down
    out: Callable[[], Out] = field(default=lambda: NOBODY)
    told: Callable[[InForce], None] | None = None
    refresh: Callable[[], Awaitable[None]] | None = None

    def below(self, published: Snapshot | None) -> Snapshot | None:
        """What is published, with the splits that would be in force without intents."""
        if published is None or not self.intents:
            return published
        content = grounded(published.content, self.intents)
        return published if content is published.content else replace(published, content=content)

    def held(self, fleet: Fleet) -> frozenset[str]:
        """Services that nothing decides about while an intent is over their splits."""
        return holds(self.intents, fleet)

    def over(self, wanted: Snapshot, fleet: Fleet, now_s: float) -> Snapshot:
        """What is published instead of a snapshot; itself when nothing stands over it."""
        over = Overlay(
            fleet=fleet, intents=self.intents, now_s=now_s, earlier=self.earlier, down=self.down
        )
        content = marked(overlaid(wanted.content, over), self.out())
        if content is wanted.content:
            return wanted
        return snapshots.revised(wanted, content)


def rollbacks(intents: Iterable[Intent]) -> frozenset[int]:
    """Revisions that standing rollbacks publish."""
    return frozenset(
        one.wanted.revision for one in intents if one.standing and one.kind is IntentKind.ROLLBACK
    )
