"""Builds what acts in an emergency: intents, and the evacuations that health asks for.

Called by `wiring`.
"""

from collections.abc import Sequence

from controlplane.adapters.sql.stores import SqlStores
from controlplane.api.dependencies import ApiServices
from controlplane.engine.intents.course import IntentParts, scaled
from controlplane.engine.intents.evacuation import Evacuations
from controlplane.engine.intents.intents import Intents
from controlplane.engine.intents.register import IntentRegister
from controlplane.engine.publishing.couriers import Courier
from controlplane.engine.reconciling.loop import LoopParts
from controlplane.engine.stages import Instruments
from controlplane.settings import Settings


def intents(
    settings: Settings,
    stores: SqlStores,
    parts: LoopParts,
    couriers: Sequence[Courier],
    instruments: Instruments,
) -> Intents:
    """The intents over what the loop publishes."""
    standing = parts.standing
    register = IntentRegister(stores.intents, stores.snapshots, standing)
    standing.refresh = register.restore
    return Intents(
        IntentParts(
            register=register,
            standing=standing,
            snapshots=stores.snapshots,
            fleets=parts.fleets,
            publication=parts.publication,
            pokes=parts.pokes,
            window=parts.intake.window,
            couriers=couriers,
        ),
        instruments,
        scaled(settings.intents, settings.time_scale),
        settings.evacuation.most_centers,
    )


def evacuations(settings: Settings, services: ApiServices, instruments: Instruments) -> Evacuations:
    """What evacuates by itself."""
    health = services.health
    return Evacuations(services.intents, lambda: health.picture, settings.evacuation, instruments)
