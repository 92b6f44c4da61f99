"""What is offered after refusals, without any stream."""

from controlplane.adapters.envoy.nodes import NodeBook
from controlplane.adapters.envoy.offers import REMEMBERED, Asked, Caller, Offers
from controlplane.adapters.envoy.resource_sets import ResourceSet
from controlplane.domain.xds import ResourceType

CDS, EDS = ResourceType.CLUSTER, ResourceType.ENDPOINT
EVERYTHING: frozenset[str] = frozenset()


def asked(kind: ResourceType, node: str, names: frozenset[str] = EVERYTHING) -> Asked:
    caller = Caller(secret=None, node=node, group="edge", agent=False)
    return Asked(caller=caller, kind=kind, names=names)


def test_what_an_envoy_runs_for_long_is_not_put_in_quarantine_by_another() -> None:
    offers = Offers(NodeBook(lambda: 0.0))
    clusters = ResourceSet(CDS, {"web": b"cluster"})
    old = asked(CDS, "old")
    for n in range(REMEMBERED + 1):
        endpoints = ResourceSet(EDS, {"web": b"%d" % n})
        offers.publish({"edge": {CDS: clusters, EDS: endpoints}}, n + 1)
        for one in (old, asked(EDS, "old", frozenset({"web"}))):
            newest = offers.newest(one)
            assert newest is not None
            if one.kind is EDS or n == 0:
                offers.acknowledged(one, newest.version)
    newest = offers.newest(old)
    assert newest is not None
    offers.refused(asked(CDS, "new"), newest.version, "words")
    assert offers.quarantined() == []


def test_what_is_judged_one_by_one_never_goes_back_to_an_earlier_version() -> None:
    offers = Offers(NodeBook(lambda: 0.0))
    kind, names = ResourceType.EXTENSION, frozenset({"callers", "token.staff"})
    first, second = (
        ResourceSet(kind, {"callers": keys, "token.staff": b"issuer"})
        for keys in (b"key", b"without the revoked key")
    )
    offers.publish({"edge": {kind: first}}, 1)
    good = offers.offer(asked(kind, "one", names))
    assert good is not None
    offers.acknowledged(asked(kind, "one", names), good.version)
    offers.publish({"edge": {kind: second}}, 2)
    newest = offers.newest(asked(kind, "one", names))
    assert newest is not None
    offers.refused(asked(kind, "one", names), newest.version, "a broken issuer")
    assert offers.quarantined() == []
    assert offers.offer(asked(kind, "two", names)) == newest
