"""Messages to receivers: signed, in order, tried again, dead, sent again."""

import asyncio
import json
from dataclasses import dataclass, field, replace

import pytest
from standardwebhooks.webhooks import Webhook as Verifier

from controlplane.domain.errors import Invalid, NotFound, Refused
from controlplane.domain.operations.webhooks import (
    MOST_ATTEMPTS,
    DeliveryState,
    EventKind,
    Webhook,
)
from controlplane.engine.operations import webhooks
from controlplane.engine.operations.items import Items, Kind, Written
from controlplane.engine.operations.webhooks import Messenger, WebhookParts
from controlplane.engine.stages import Instruments
from controlplane.ports.operations import Answer, OperationStores
from tests.builders import OPERATOR
from tests.engine.rig import Clock
from tests.fakes.operations import Postbox, memory_operations
from tests.fakes.stores import MemoryStores

BY = Written(author=OPERATOR)
ORIGIN = "https://pager.example"
HOOK = Webhook(name="pager", url=f"{ORIGIN}/hook", secret="")
KIND: Kind[Webhook] = Kind(word="webhook", name_of=lambda one: one.name, shown=lambda one: one.url)


@dataclass(slots=True)
class Site:
    clock: Clock = field(default_factory=Clock)
    stores: MemoryStores = field(default_factory=MemoryStores)
    box: Postbox = field(default_factory=Postbox)
    kept: OperationStores = field(init=False)
    instruments: Instruments = field(init=False)
    messenger: Messenger = field(init=False)
    hooks: Items[Webhook] = field(init=False)

    def __post_init__(self) -> None:
        self.kept = memory_operations(self.stores.audit, self.stores.outage)
        self.start()

    def start(self) -> None:
        self.instruments = Instruments(now=self.clock.now)
        self.hooks = Items(KIND, self.kept.webhooks, self.instruments)
        self.messenger = Messenger(
            WebhookParts(
                webhooks=self.hooks,
                deliveries=self.kept.deliveries,
                carrier=self.box,
                origins=frozenset({ORIGIN}),
            ),
            self.instruments,
        )

    async def restart(self) -> None:
        self.start()
        await self.hooks.restore()
        await self.messenger.restore()

    @property
    def codes(self) -> list[str]:
        return [one.observation.code for one in self.instruments.findings.standing()]


@pytest.fixture
async def site() -> Site:
    made = Site()
    await made.messenger.declare(HOOK, BY, new=True)
    return made


async def test_a_message_is_what_the_standards_own_library_verifies(site: Site) -> None:
    site.clock.time_s = float(int(__import__("time").time()))
    site.messenger.tell(EventKind.FINDING_APPEARED, {"code": "x"})
    await site.messenger.settle()
    ((url, headers, body),) = site.box.sent
    assert url == HOOK.url
    secret = site.hooks.named("pager").secret
    assert Verifier(secret).verify(body, headers) == json.loads(body)
    assert json.loads(body)["type"] == "finding.appeared"
    assert json.loads(body)["data"] == {"code": "x"}
    (stored,) = await site.kept.deliveries.recent(None, 9)
    assert (stored.state, stored.attempts, stored.answer) == (DeliveryState.DELIVERED, 1, 204)


async def test_a_failure_is_tried_again_in_order_under_the_same_id(site: Site) -> None:
    site.box.answers = [Answer(status=503, words="503"), Answer(status=0, words="no answer")]
    site.messenger.tell(EventKind.TEST, {"n": 1})
    await site.messenger.settle()
    await site.messenger.settle()
    assert len(site.box.sent) == 1
    for _ in range(2):
        site.clock.time_s += 3.0
        await site.messenger.settle()
    ids = {headers["webhook-id"] for _, headers, _ in site.box.sent}
    stamps = {headers["webhook-timestamp"] for _, headers, _ in site.box.sent}
    assert (len(site.box.sent), len(ids), len(stamps)) == (3, 1, 3)
    assert site.messenger.waiting == 0
    assert site.messenger.ended == {DeliveryState.DELIVERED: 1}


async def test_what_is_never_taken_is_a_dead_letter_that_can_be_sent_again(site: Site) -> None:
    site.box.answers = [Answer(status=500, words="500")] * MOST_ATTEMPTS
    site.messenger.tell(EventKind.TEST, {})
    for _ in range(MOST_ATTEMPTS):
        await site.messenger.settle()
        site.clock.time_s += 400.0
    assert site.codes == ["webhook_dead_letters"]
    (dead,) = await site.kept.deliveries.recent(DeliveryState.DEAD, 9)
    await site.restart()
    assert site.codes == ["webhook_dead_letters"]
    renewed = await site.messenger.redeliver(dead.id, OPERATOR)
    assert (renewed.id, renewed.attempts) == (dead.id, 0)
    assert not site.codes
    await site.messenger.settle()
    assert (await site.kept.deliveries.by_id(dead.id)).state is DeliveryState.DELIVERED


async def test_a_restart_sends_what_waited(site: Site) -> None:
    site.box.answers = [Answer(status=503, words="503")]
    site.messenger.tell(EventKind.TEST, {})
    await site.messenger.settle()
    await site.restart()
    site.clock.time_s += 3.0
    await site.messenger.settle()
    assert len(site.box.sent) == 2


async def test_who_answers_gone_is_told_no_more(site: Site) -> None:
    site.box.answers = [Answer(status=410, words="gone")]
    site.messenger.tell(EventKind.TEST, {})
    site.messenger.tell(EventKind.TEST, {})
    await site.messenger.settle()
    assert len(site.box.sent) == 1
    assert "410" in site.hooks.named("pager").disabled
    assert len(await site.kept.deliveries.recent(DeliveryState.DEAD, 9)) == 2
    site.messenger.tell(EventKind.TEST, {})
    assert site.messenger.waiting == 0
    with pytest.raises(Refused, match="is disabled"):
        site.messenger.test("pager")


async def test_messages_to_a_webhook_that_was_removed_are_dead(site: Site) -> None:
    site.messenger.tell(EventKind.TEST, {})
    await site.hooks.remove("pager", BY)
    await site.messenger.settle()
    assert not site.box.sent
    (dead,) = await site.kept.deliveries.recent(DeliveryState.DEAD, 9)
    with pytest.raises(NotFound):
        await site.messenger.redeliver(dead.id, OPERATOR)


async def test_while_the_store_is_away_messages_go_all_the_same(site: Site) -> None:
    site.stores.outage.away = True
    site.messenger.tell(EventKind.TEST, {})
    site.box.answers = [Answer(status=410)]
    await site.messenger.settle()
    assert len(site.box.sent) == 1
    assert site.messenger.waiting == 0


async def test_a_webhook_is_told_what_it_wants(site: Site) -> None:
    await site.messenger.declare(replace(HOOK, events=(EventKind.INTENT_CHANGED,)), BY)
    site.messenger.tell(EventKind.FINDING_APPEARED, {})
    assert site.messenger.waiting == 0
    assert site.messenger.test("pager").kind is EventKind.TEST
    assert site.messenger.waiting == 1


async def test_what_has_no_room_is_counted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MOST_WAITING", 1)
    site.messenger.tell(EventKind.TEST, {})
    site.messenger.tell(EventKind.TEST, {})
    assert (site.messenger.waiting, site.messenger.dropped) == (1, 1)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("ftp://pager.example/", Invalid),
        ("https://", Invalid),
        ("https://user:word@pager.example/", Invalid),
        ("https://pager.example.evil/", Refused),
        ("http://pager.example/", Refused),
        ("https://pager.example:8443/", Refused),
    ],
)
async def test_only_allowed_origins(site: Site, url: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        await site.messenger.declare(replace(HOOK, url=url), BY)


async def test_a_secret_of_the_callers_own_must_be_one(site: Site) -> None:
    with pytest.raises(Invalid, match="24 to 64"):
        await site.messenger.declare(replace(HOOK, secret="whsec_short"), BY)


async def test_a_slow_receiver_holds_nobody_else_up(site: Site) -> None:
    released = asyncio.Event()
    sent: list[str] = []

    class Slow:
        async def post(self, url: str, headers: object, body: bytes) -> Answer:
            sent.append(url)
            if "slow" in url:
                await released.wait()
            return Answer(status=204)

    site.messenger._parts = replace(site.messenger._parts, carrier=Slow())  # type: ignore[arg-type]
    await site.messenger.declare(replace(HOOK, name="slow", url=f"{ORIGIN}/slow"), BY)
    site.messenger.tell(EventKind.TEST, {})
    running = asyncio.create_task(site.messenger.run())
    await asyncio.sleep(0.05)
    site.messenger.tell(EventKind.TEST, {})
    async with asyncio.timeout(5):
        while sent.count(HOOK.url) < 2:
            await asyncio.sleep(0.01)
    assert sent.count(f"{ORIGIN}/slow") == 1
    released.set()
    async with asyncio.timeout(5):
        while site.messenger.waiting:
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_dead_receiver_takes_no_room_of_the_others(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MOST_WAITING_EACH", 3)
    await site.messenger.declare(replace(HOOK, name="other"), BY)
    site.box.answers = [Answer(status=500)] * 100
    for _ in range(5):
        site.messenger.tell(EventKind.FINDING_APPEARED, {})
    assert (site.messenger.waiting, site.messenger.dropped) == (6, 4)


async def test_dead_letters_are_remembered_up_to_a_limit(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "RESTORED", 2)
    site.box.answers = [Answer(status=410)]
    for _ in range(4):
        site.messenger.tell(EventKind.FINDING_APPEARED, {})
    await site.messenger.settle()
    standing = site.instruments.findings.standing()
    assert [one.observation.message[:2] for one in standing] == ["2 "]


async def test_an_origin_that_the_settings_no_longer_allow_gets_nothing(site: Site) -> None:
    site.messenger.tell(EventKind.FINDING_APPEARED, {})
    parts = replace(site.messenger._parts, origins=frozenset())
    site.messenger._parts = parts
    await site.messenger.settle()
    assert site.box.sent == []


async def test_a_clock_that_was_set_back_holds_no_retry(site: Site) -> None:
    site.box.answers = [Answer(status=503, words="503")]
    site.messenger.tell(EventKind.TEST, {})
    await site.messenger.settle()
    site.clock.time_s -= 3_600.0
    await site.messenger.settle()
    assert (len(site.box.sent), site.messenger.waiting) == (2, 0)
