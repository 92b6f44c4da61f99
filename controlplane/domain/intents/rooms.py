"""Waiting rooms over a snapshot's content: a policy of a queue of sessions for each preset.

Called by `overlay` last. Gateways that ask an agent enforce it; it goes with its intent, and who
waits is let through then.
"""

from collections.abc import Iterable
from dataclasses import replace

from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.admission.presets import preset
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.intents.intent import Intent, IntentKind, IntentState, Preset, PresetName
from controlplane.domain.snapshot import Content, PoliciesSection


def with_rooms(content: Content, standing: Iterable[Intent]) -> Content:
    """The content with the waiting rooms of standing intents."""
    rooms = [
        _room(one, one.wanted.preset)
        for one in standing
        if one.kind is IntentKind.PRESET
        and one.state is IntentState.ACTIVE
        and one.wanted.preset is not None
        and one.wanted.preset.name is PresetName.WAITING_ROOM
    ]
    if not rooms:
        return content
    policies = sorted((*content.admission.policies, *rooms), key=lambda one: one.name)
    return replace(content, admission=PoliciesSection(policies=tuple(policies)))


def _room(intent: Intent, wanted: Preset) -> Policy:
    """The policy; its name is the intent's, so that one that is made again begins empty."""
    made = preset(
        PresetName.WAITING_ROOM,
        f"{intent.id}-waiting-room",
        Attachment(services=(intent.target.service,)),
    )
    queue = made.session_queue or SessionQueuePolicy()
    if wanted.concurrent is not None:
        most = max(queue.most_size, wanted.concurrent)
        queue = replace(queue, initial_size=wanted.concurrent, most_size=most)
    if wanted.waiting is not None:
        queue = replace(queue, most_waiting=wanted.waiting)
    return replace(made, session_queue=queue)
