"""Orders on the wire: what policies, scenarios and changes will ask for, in the form of intents.

Called by the resources of operations. An order has no end of its own: what holds it says when.
"""

from typing import Annotated, Any

from pydantic import Field

from controlplane.api.wire.intents import IntentIn, PresetWire, TargetWire
from controlplane.api.wire.values import Text, Wire
from controlplane.domain.intents import rules
from controlplane.domain.intents.intent import Wanted
from controlplane.engine.intents.course import IntentTimes

Named = Annotated[
    Text, Field(min_length=1, max_length=63, description="Lower case letters, digits, `-`.")
]
Titled = Annotated[Text, Field(max_length=200)]
Orders = Annotated[list[IntentIn], Field(max_length=50)]


class Done(Wire):
    """An answer that has nothing to tell."""

    done: bool = True


def order_in(order: IntentIn, times: IntentTimes) -> Wanted:
    """The domain's order; Invalid when it could never be made."""
    wanted = order.model_copy(update={"expires_in_s": None}).wanted(0.0, times)
    rules.check_shape(wanted, 0.0)
    return wanted


def order_out(wanted: Wanted) -> IntentIn:
    """The same again, as it can be sent."""
    preset = wanted.preset
    shown: dict[str, Any] = {
        "kind": wanted.kind,
        "target": TargetWire(
            service=wanted.target.service,
            datacenter=wanted.target.datacenter,
            cluster=wanted.target.cluster,
            endpoint=wanted.target.endpoint,
        ),
        "reason": wanted.reason,
        "over_s": wanted.over_s,
        "return_s": wanted.return_s,
        "shares": dict(wanted.shares),
        "preset": None
        if preset is None
        else PresetWire(
            name=preset.name,
            concurrent=preset.concurrent,
            waiting=preset.waiting,
            rate_rps=preset.rate_rps,
            status=preset.status,
        ),
        "revision": wanted.revision,
        "force": wanted.force,
    }
    return IntentIn(**shown)
