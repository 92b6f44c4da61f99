"""A champion whose files were changed on disk: its service goes on one rung lower."""

from pathlib import Path

from controlplane.api.ladder import ladder_of
from controlplane.domain.decisions import Trigger
from controlplane.domain.findings import Source
from controlplane.domain.ladder import Rung
from controlplane.domain.services import StrategyName
from controlplane.engine.pokes import Poke
from controlplane.settings import Settings
from controlplane.wiring import House, house
from models.files import NPZ_NAME
from tests.builders import OPERATOR, fleet, sample, service
from tests.model_artifacts import artifact, upload


def _settings(folder: Path) -> Settings:
    return Settings(data_dir=folder, http_port=0, ads_port=0, envoy_preflight="off")


async def _decided(built: House) -> str:
    """The strategy that answers in the next cycle."""
    services = built.services
    now_s = services.instruments.now()
    centers = (("beijing-1", 0.5), ("beijing-2", 0.4))
    await services.intake.accept([sample(name, now_s, cpu_avg=cpu) for name, cpu in centers])
    await services.loop.tick([Poke(trigger=Trigger.TIMER)])
    return services.loop.decisions["tickets"].strategy


def _damaged(built: House) -> list[str]:
    standing = built.services.findings.standing()
    return [one.observation.subject for one in standing if one.source is Source.MODELS]


def _rung(built: House) -> Rung:
    services = built.services
    return ladder_of(services, services.fleets.current.fleet.service("tickets")).rung


async def test_a_changed_file_costs_the_model_its_service_until_it_is_uploaded_again(
    tmp_path: Path,
) -> None:
    digest = artifact().digest
    async with house(_settings(tmp_path), "http://test") as built:
        hybrid = fleet(service(strategy=StrategyName.HYBRID))
        await built.services.fleets.apply(hybrid, OPERATOR, force=True)
        await built.services.models.enroll(upload(), OPERATOR)
        await built.services.models.promote("tickets", digest, OPERATOR)
        assert await _decided(built) in (StrategyName.GREYBOX, StrategyName.HYBRID)
        assert (_rung(built), _damaged(built)) == (Rung.LIVE, [])
    file = tmp_path / "models" / digest / NPZ_NAME
    body = bytearray(file.read_bytes())
    body[len(body) // 2] ^= 0xFF
    file.write_bytes(body)
    async with house(_settings(tmp_path), "http://test") as built:
        assert _damaged(built) == [f"service/tickets model/{digest}"]
        assert await _decided(built) == StrategyName.OBSERVED_LAWS
        assert _rung(built) is Rung.LAWS
        await built.services.models.enroll(upload(), OPERATOR)
        assert await _decided(built) in (StrategyName.GREYBOX, StrategyName.HYBRID)
        assert (_rung(built), _damaged(built)) == (Rung.LIVE, [])
