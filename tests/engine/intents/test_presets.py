"""Presets on their way: forecast, in force, and exactly taken back."""

from controlplane.domain.intents.intent import IntentKind, Preset, PresetName, Target
from controlplane.domain.snapshot import ServiceLimit
from tests.engine.intents.test_intents import ask, rig


async def test_a_rate_is_forecast_and_in_force_until_it_is_undone() -> None:
    made = await rig()
    before = made.publication.current
    preset = Preset(name=PresetName.RATE_LIMIT, rate_rps=12.0)
    rate = ask(IntentKind.PRESET, Target(service="tickets"), preset=preset)
    found, objection = await made.intents.dry_run(rate)
    assert objection is None
    ((expected, admitted),) = [(one.rate_rps, one.admitted_rps) for one in found.plan.allocations]
    assert (expected, admitted) == (30.0, 12.0)
    intent = await made.intents.create(rate)
    await made.follow()
    assert made.publication.current is not None
    (service,) = made.publication.current.content.endpoints.services
    assert service.limit == ServiceLimit(rate_rps=12.0)
    await made.intents.undo(intent.id, "ann")
    await made.follow()
    assert before is not None
    assert made.publication.current.version == before.version
