"""Gateways that poll or stream over REST: who was seen last, running which revision."""

from collections import OrderedDict

from controlplane.ports.outside import PlaneNode

# Names come from callers; the oldest ones leave when there are more.
MOST_CONSUMERS = 20_000
# A gateway that polls with wait=30 shows itself at least this often.
CONNECTED_WITHIN_S = 90.0


class Consumers:
    """A bounded register by name."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, PlaneNode] = OrderedDict()

    def seen(self, name: str, group: str, revision: int, now_s: float) -> None:
        """Record that a gateway holds a revision now."""
        self._seen[name] = PlaneNode(
            name=name, group=group, connected=True, revision=revision, seen_s=now_s
        )
        self._seen.move_to_end(name)
        if len(self._seen) > MOST_CONSUMERS:
            self._seen.popitem(last=False)

    def nodes(self, now_s: float) -> list[PlaneNode]:
        """Everyone seen, by name; connected means seen within `CONNECTED_WITHIN_S`."""
        return [
            PlaneNode(
                name=node.name,
                group=node.group,
                # Seen in the future is one that was seen before the clock was set back.
                connected=0 <= now_s - node.seen_s <= CONNECTED_WITHIN_S,
                revision=node.revision,
                seen_s=node.seen_s,
            )
            for _, node in sorted(self._seen.items())
        ]
