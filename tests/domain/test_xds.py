"""The state-of-the-world protocol, request by request."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain import xds
from controlplane.domain.xds import (
    TRANSITIONS,
    TYPE_URLS,
    TYPES,
    WILDCARD,
    Event,
    Phase,
    Request,
    ResourceType,
    Stream,
)

CDS, EDS = ResourceType.CLUSTER, ResourceType.ENDPOINT
LDS, RDS = ResourceType.LISTENER, ResourceType.ROUTE
WEB = frozenset({"web"})
OFFERS = {CDS: "c1", EDS: "e1", LDS: "l1", RDS: "r1"}


class Consumer:
    """A stream seen from its other end: it is sent what is due, and answers as told."""

    def __init__(self, offers: dict[ResourceType, str], stream: Stream | None = None) -> None:
        self.offers = dict(offers)
        self.stream = stream or Stream()
        self.log: list[tuple[ResourceType, str]] = []

    def ask(
        self, kind: ResourceType, names: frozenset[str] = frozenset(), version: str = ""
    ) -> Event:
        return self.take(Request(type=kind, names=names, version=version))

    def take(self, request: Request) -> Event:
        self.stream, event = xds.receive(self.stream, request)
        return event

    def sent(self) -> list[tuple[ResourceType, str]]:
        """Send everything that is due; what was sent by this call."""
        before = len(self.log)
        while (kind := xds.due(self.stream, self.offers)) is not None:
            self.stream = xds.send(self.stream, kind, self.offers[kind])
            self.log.append((kind, self.offers[kind]))
            assert len(self.log) < before + 20, "it never settles"
        return self.log[before:]

    def answer(self, kind: ResourceType, error: str | None = None) -> Event:
        known = self.stream.subscriptions[kind]
        version = known.acked if error else known.sent
        return self.take(
            Request(type=kind, names=known.names, version=version, nonce=known.nonce, error=error)
        )

    def settle(self) -> None:
        """Subscribe like an Envoy and acknowledge everything."""
        for kind in (CDS, EDS, LDS, RDS):
            self.ask(kind, frozenset() if kind in WILDCARD else WEB)
        while self.sent():
            for kind, subscription in self.stream.subscriptions.items():
                if subscription.phase is Phase.OFFERED:
                    self.answer(kind)


def settled() -> Consumer:
    consumer = Consumer(OFFERS)
    consumer.settle()
    return consumer


def test_every_type_has_one_url() -> None:
    assert set(TYPE_URLS) == set(ResourceType)
    assert {TYPES[url] for url in TYPE_URLS.values()} == set(ResourceType)


def test_the_table_answers_only_what_was_offered() -> None:
    answered = {phase for phase, event in TRANSITIONS if event in (Event.ACK, Event.NACK)}
    assert answered == {Phase.OFFERED}
    assert {(phase, Event.SENT) in TRANSITIONS for phase in Phase} == {True}


def test_clusters_and_endpoints_first_then_the_rest_once_clusters_are_acknowledged() -> None:
    consumer = Consumer(OFFERS)
    for kind in (RDS, LDS, EDS, CDS):
        consumer.ask(kind, frozenset() if kind in WILDCARD else WEB)
    assert consumer.sent() == [(CDS, "c1"), (EDS, "e1")]
    assert consumer.answer(EDS) is Event.ACK
    assert consumer.sent() == []
    assert consumer.answer(CDS) is Event.ACK
    assert consumer.sent() == [(LDS, "l1"), (RDS, "r1")]


def test_nothing_changed_nothing_sent() -> None:
    consumer = settled()
    assert consumer.sent() == []
    assert xds.settled(consumer.stream, consumer.offers)


def test_weights_are_one_endpoint_push() -> None:
    consumer = settled()
    consumer.offers[EDS] = "e2"
    assert consumer.sent() == [(EDS, "e2")]
    assert not xds.settled(consumer.stream, consumer.offers)
    consumer.answer(EDS)
    assert xds.settled(consumer.stream, consumer.offers)


def test_a_cluster_change_sends_the_same_endpoints_again_and_holds_routes_back() -> None:
    consumer = settled()
    consumer.offers |= {CDS: "c2", RDS: "r2"}
    assert consumer.sent() == [(CDS, "c2"), (EDS, "e1")]
    consumer.answer(EDS)
    assert consumer.sent() == []
    consumer.answer(CDS)
    assert consumer.sent() == [(RDS, "r2")]


def test_refused_clusters_do_not_hold_routes_back() -> None:
    consumer = settled()
    consumer.offers |= {CDS: "c2", RDS: "r2"}
    consumer.sent()
    assert consumer.answer(CDS, "cannot create an EDS cluster") is Event.NACK
    assert consumer.sent() == [(RDS, "r2")]
    assert consumer.stream.subscriptions[CDS].acked == "c1"


def test_a_refused_version_is_never_sent_again_and_the_next_one_is() -> None:
    consumer = settled()
    consumer.offers[RDS] = "r2"
    consumer.sent()
    consumer.answer(RDS, "missing )")
    refused = consumer.stream.subscriptions[RDS]
    assert (refused.phase, refused.message, refused.acked) == (Phase.REFUSED, "missing )", "r1")
    assert consumer.sent() == []
    consumer.ask(RDS, WEB | {"more"})
    assert consumer.sent() == []
    consumer.offers[RDS] = "r3"
    assert consumer.sent() == [(RDS, "r3")]
    consumer.answer(RDS)
    assert consumer.stream.subscriptions[RDS].message == ""
    consumer.offers[RDS] = "r2"
    assert consumer.sent() == []


def test_refusals_are_remembered_within_bounds() -> None:
    consumer = settled()
    for number in range(2 * xds.REMEMBERED_REFUSALS):
        consumer.offers[RDS] = f"bad-{number}"
        consumer.sent()
        consumer.answer(RDS, "no")
        assert consumer.sent() == []
    assert len(consumer.stream.subscriptions[RDS].refused) <= xds.REMEMBERED_REFUSALS


def test_a_stale_answer_changes_nothing() -> None:
    consumer = settled()
    consumer.offers[EDS] = "e2"
    consumer.sent()
    old = Request(type=EDS, names=WEB | {"x"}, version="e1", nonce="1", error="no")
    before = consumer.stream
    assert consumer.take(old) is Event.STALE
    assert consumer.stream == before


def test_new_names_are_sent_once_even_when_the_version_is_the_same() -> None:
    consumer = settled()
    consumer.ask(EDS, WEB | {"api"})
    assert consumer.sent() == [(EDS, "e1")]
    consumer.answer(EDS)
    assert consumer.sent() == []


def test_a_cluster_that_warms_again_asks_for_its_endpoints_and_gets_them() -> None:
    consumer = settled()
    known = consumer.stream.subscriptions[EDS]
    again = Request(type=EDS, names=known.names, version=known.acked, nonce=known.nonce)
    assert consumer.take(again) is Event.ASKED
    assert consumer.sent() == [(EDS, "e1")]


def test_a_slow_consumer_gets_the_newest_only() -> None:
    consumer = settled()
    for version in ("e2", "e3", "e4"):
        consumer.offers[EDS] = version
    assert consumer.sent() == [(EDS, "e4")]


def test_who_comes_back_with_the_same_versions_is_sent_nothing() -> None:
    consumer = Consumer(OFFERS)
    for kind, version in OFFERS.items():
        consumer.ask(kind, frozenset() if kind in WILDCARD else WEB, version)
    assert consumer.sent() == []
    assert xds.settled(consumer.stream, consumer.offers)


def test_quarantine_outlives_the_stream_while_the_consumer_has_something_to_run() -> None:
    quarantine = {RDS: frozenset({"r2"})}
    offers = OFFERS | {RDS: "r2"}
    running = Consumer(offers, Stream(quarantine=quarantine))
    running.ask(RDS, WEB, "r1")
    assert running.sent() == []
    new = Consumer(offers, Stream(quarantine=quarantine))
    new.ask(RDS, WEB)
    assert new.sent() == [(RDS, "r2")]


def test_types_without_names_or_offers_wait() -> None:
    consumer = Consumer({LDS: "l1"})
    consumer.ask(EDS)
    consumer.ask(RDS, WEB)
    assert consumer.sent() == []
    assert not xds.settled(consumer.stream, consumer.offers)
    assert not xds.settled(Stream(), consumer.offers)
    # No cluster is on offer, so nothing has to be warm.
    consumer.ask(CDS)
    consumer.ask(LDS)
    assert consumer.sent() == [(LDS, "l1")]


def test_runtime_waits_behind_the_gate_too() -> None:
    offers = {CDS: "c1", ResourceType.RUNTIME: "t1", ResourceType.EXTENSION: "x1"}
    consumer = Consumer(offers)
    consumer.ask(CDS)
    consumer.ask(ResourceType.RUNTIME, frozenset({"switches"}))
    consumer.ask(ResourceType.EXTENSION, frozenset({"limits"}))
    assert consumer.sent() == [(CDS, "c1")]
    consumer.answer(CDS)
    assert consumer.sent() == [(ResourceType.EXTENSION, "x1"), (ResourceType.RUNTIME, "t1")]


KINDS = st.sampled_from([CDS, EDS, LDS, RDS])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("offer"), KINDS, st.integers(1, 4)),
        st.tuples(st.just("ack"), KINDS, st.just(0)),
        st.tuples(st.just("nack"), KINDS, st.just(0)),
        st.tuples(st.just("ask"), KINDS, st.integers(1, 3)),
    ),
    max_size=40,
)


@given(STEPS)
def test_laws_of_any_stream(steps: list[tuple[str, ResourceType, int]]) -> None:
    """No refused version again, no routes over clusters that are not warm, and it settles."""
    consumer = settled()
    refused: set[tuple[ResourceType, str]] = set()
    for step, kind, number in steps:
        match step:
            case "offer":
                consumer.offers[kind] = f"{kind}-{number}"
            case "ask":
                names = frozenset(f"n{i}" for i in range(number))
                consumer.ask(kind, frozenset() if kind in WILDCARD else names)
            case _:
                waiting = consumer.stream.subscriptions[kind].phase is Phase.OFFERED
                event = consumer.answer(kind, "no" if step == "nack" else None)
                if event is Event.NACK and waiting:
                    refused.add((kind, consumer.stream.subscriptions[kind].sent))
        clusters = consumer.stream.subscriptions[CDS]
        for sent in consumer.sent():
            assert sent not in refused
            if sent[0] in (LDS, RDS):
                offer = consumer.offers[CDS]
                assert offer == clusters.acked or offer in clusters.refused
    assert consumer.sent() == []


def test_a_stream_is_a_value() -> None:
    first = Stream()
    second, _ = xds.receive(first, Request(type=CDS))
    assert first == Stream()
    assert replace(second) == second


def test_a_consumer_that_is_offered_nothing_runs_nothing() -> None:
    stream, _ = xds.receive(xds.Stream(), Request(type=CDS))
    assert not xds.settled(stream, {})


def test_who_refused_routes_is_not_sent_what_it_runs_already() -> None:
    consumer = settled()
    consumer.offers[RDS] = "r2"
    consumer.sent()
    consumer.answer(RDS, "no")
    consumer.offers[RDS] = "r1"
    assert consumer.sent() == []
    assert xds.settled(consumer.stream, consumer.offers)
    consumer.ask(RDS, WEB | {"more"})
    assert consumer.sent() == [(RDS, "r1")]


def test_who_refused_clusters_has_taken_the_good_ones_and_is_sent_the_earlier_ones() -> None:
    consumer = settled()
    consumer.offers[CDS] = "c2"
    consumer.sent()
    consumer.answer(CDS, "no")
    consumer.answer(EDS)
    consumer.offers[CDS] = "c1"
    assert consumer.sent() == [(CDS, "c1"), (EDS, "e1")]
