"""Ready-made policies by name: values that work for what sites meet most.

Taken by the fleet document (`preset: NAME` in place of a kind) and by intents, which put a policy
in force for a time. A preset is a starting point: what it makes is an ordinary policy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controlplane.domain.admission.policy import Attachment, Mode, Policy
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.errors import NotFound

EVERYTHING = Attachment()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A policy without a name of its own.

    Attributes:
        description: one sentence for operators.
        policy: of one kind, attached to everything.
    """

    description: str
    policy: Policy


PRESETS: Mapping[str, Preset] = {
    "strict_edge": Preset(
        description="Short URLs, small bodies and few headers, and only methods of "
        "forms: for pages that only browsers read.",
        policy=Policy(
            name="strict_edge",
            protection=ProtectionPolicy(
                blocked_methods=("CONNECT", "DELETE", "PATCH", "PUT", "TRACE", "TRACK"),
                most_body_bytes=65_536,
                most_headers=60,
                most_header_bytes=16_384,
                most_url_bytes=2_048,
            ),
        ),
    ),
    "rate_limit": Preset(
        description="20 requests per second from each address, 40 at once: more than a person "
        "needs, less than a crawler takes.",
        policy=Policy(
            name="rate_limit",
            rate_limit=RateLimitPolicy(rate_rps=20.0, burst=40.0, key=("source",)),
        ),
    ),
    "waiting_room": Preset(
        description="As many sessions inside as keep the mean response time at 1 s; the others "
        "wait in the order in which they came.",
        policy=Policy(name="waiting_room", session_queue=SessionQueuePolicy()),
    ),
    "sale_day": Preset(
        description="A waiting room for a day when everybody comes at once: who comes within the "
        "same 10 s is put in random order, up to a million wait, and they ask less often.",
        policy=Policy(
            name="sale_day",
            session_queue=SessionQueuePolicy(
                initial_size=100,
                draw_s=10.0,
                most_waiting=1_000_000,
                poll_s=5.0,
                most_poll_s=30.0,
                abandon_s=120.0,
            ),
        ),
    ),
}


def preset(
    kind: str, name: str, attachment: Attachment = EVERYTHING, mode: Mode = Mode.ENFORCE
) -> Policy:
    """The policy of a preset under a name; NotFound `policy_preset_not_found`."""
    found = PRESETS.get(kind)
    if found is None:
        raise NotFound(
            "policy_preset_not_found",
            f"there is no preset {kind}; there are {', '.join(sorted(PRESETS))}",
        )
    return replace(found.policy, name=name, attachment=attachment, mode=mode)
