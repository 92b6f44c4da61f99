"""Intents as the register would have made them."""

from dataclasses import replace

from controlplane.domain.intents.intent import Intent, IntentKind, Target, Wanted

LEAVE_EAST = Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="east"))


def intent(wanted: Wanted = LEAVE_EAST, author: str = "policy/leave", **changes: object) -> Intent:
    made = Intent(
        id=f"{wanted.kind}-1",
        number=1,
        wanted=wanted,
        author=author,
        created_s=10.0,
        change=1,
        cause="x",
    )
    return replace(made, **changes)  # type: ignore[arg-type]
