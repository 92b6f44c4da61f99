"""ModelRegistry: content-addressed models and their aliases."""

import numpy as np
import pytest

from controlplane.domain.errors import Invalid, NotFound
from controlplane.domain.promotions import Promotion, PromotionEvent
from models.forward import predict
from tests.model_artifacts import artifact, upload
from tests.ports.conftest import Stores
from tests.ports.examples import entry


async def test_nothing_stored(stores: Stores) -> None:
    assert await stores.models.all(None) == []
    assert await stores.models.promotions("tickets", 9) == []


def step(event: PromotionEvent, model: str, service: str = "tickets") -> Promotion:
    return Promotion(
        time_s=1.0, service=service, event=event, model=model, author="ops", reason="because"
    )


async def test_newest_first_with_aliases(stores: Stores) -> None:
    old = await stores.models.add(upload(seed=1), 1.0, entry())
    new = await stores.models.add(upload(seed=2), 2.0, entry())
    video = await stores.models.add(upload("video"), 3.0, entry())
    await stores.models.record(step(PromotionEvent.PROMOTED, old.digest), entry())
    await stores.models.record(step(PromotionEvent.ENROLLED, new.digest), entry())
    await stores.models.record(step(PromotionEvent.ENROLLED, video.digest, "video"), entry())
    assert [m.digest for m in await stores.models.all(None)] == [
        video.digest,
        new.digest,
        old.digest,
    ]
    assert [(m.digest, m.aliases) for m in await stores.models.all("tickets")] == [
        (new.digest, ("challenger", "shadow")),
        (old.digest, ("champion",)),
    ]
    await stores.models.record(step(PromotionEvent.PROMOTED, new.digest), entry())
    assert [(m.digest, m.aliases) for m in await stores.models.all("tickets")] == [
        (new.digest, ("champion",)),
        (old.digest, ()),
    ]


async def test_the_promotion_log_is_newest_first_and_of_one_service(stores: Stores) -> None:
    stored = await stores.models.add(upload(), 1.0, entry())
    video = await stores.models.add(upload("video"), 1.0, entry())
    steps = [step(event, stored.digest) for event in PromotionEvent]
    for one in (*steps, step(PromotionEvent.PROMOTED, video.digest, "video")):
        await stores.models.record(one, entry("model.step"))
    assert await stores.models.promotions("tickets", 99) == steps[::-1]
    assert await stores.models.promotions("tickets", 2) == steps[:-3:-1]
    assert await stores.models.promotions("orders", 9) == []
    assert [e.action for e in await stores.audit.recent(1)] == ["model.step"]


async def test_an_upload_repeated_is_the_same_model(stores: Stores) -> None:
    first = await stores.models.add(upload(), 1.0, entry())
    again = await stores.models.add(upload(), 2.0, entry())
    assert first == again
    assert first.digest == artifact().digest
    assert len(await stores.models.all(None)) == 1


async def test_any_registered_model_predicts(stores: Stores) -> None:
    for seed in (1, 2):
        stored = await stores.models.add(upload(seed=seed), 1.0, entry())
        model = await stores.models.by_digest(stored.digest)
        assert model.digest == stored.digest
        assert model.network is not None
        network = artifact(seed=seed).mlp
        assert network is not None
        x = np.full((3, 14), 0.25)
        np.testing.assert_array_equal(model.network(x), predict(network, x))
    with pytest.raises(NotFound, match="0000"):
        await stores.models.by_digest("0" * 64)


async def test_a_step_needs_a_model_of_that_service(stores: Stores) -> None:
    stored = await stores.models.add(upload(), 1.0, entry("add"))
    for service, digest in (("tickets", "0" * 64), ("video", stored.digest)):
        with pytest.raises(NotFound):
            promoted = step(PromotionEvent.PROMOTED, digest, service)
            await stores.models.record(promoted, entry("promote"))
        assert await stores.models.promotions(service, 9) == []
    assert [e.action for e in await stores.audit.recent(9)] == ["add"]


async def test_a_damaged_upload_is_invalid_and_not_audited(stores: Stores) -> None:
    for data in (b"", b"nonsense", upload()[:-200]):
        with pytest.raises(Invalid) as caught:
            await stores.models.add(data, 1.0, entry())
        assert caught.value.code == "model_invalid"
    assert await stores.models.all(None) == []
    assert await stores.audit.recent(9) == []


async def test_an_upload_is_audited_with_service_and_digest(stores: Stores) -> None:
    stored = await stores.models.add(upload(), 1.0, entry("add", subject=""))
    assert [e.subject for e in await stores.audit.recent(9)] == [stored.subject]
    assert stored.subject == f"service/tickets model/{stored.digest}"
