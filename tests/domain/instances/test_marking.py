"""What health takes out of a snapshot."""

from dataclasses import replace

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.health.judging import endpoint_keys
from controlplane.domain.instances.marking import marked, shunned
from controlplane.domain.snapshot import Content, EndpointsSection
from tests.builders import fleet, service

SITE = fleet(service(), service("other"))
CONTENT = build(SITE, {one.name: {"beijing-1": 0.5, "beijing-2": 0.5} for one in SITE.services})
KEYS = tuple(endpoint_keys(SITE.service("tickets")))


def out_of(content: Content, name: str) -> list[tuple[tuple[str, int], ...]]:
    (found,) = (one for one in content.endpoints.services if one.service == name)
    return [center.out for center in found.centers]


def test_when_all_is_well_nothing_changes() -> None:
    assert marked(CONTENT.content, {}) is CONTENT.content
    assert marked(CONTENT.content, {"gone": frozenset(KEYS)}) is CONTENT.content


def test_endpoints_that_are_out_are_named_in_their_cluster() -> None:
    found = marked(CONTENT.content, {"tickets": frozenset({KEYS[0], KEYS[2], KEYS[8]})})
    assert out_of(found, "tickets") == [
        (("127.0.0.1", 9001), ("127.0.0.1", 9003)),
        (("127.0.0.1", 9101),),
    ]
    assert out_of(found, "other") == [(), ()]


def test_what_drains_is_not_taken_out_as_well() -> None:
    services = tuple(
        replace(
            one,
            centers=tuple(
                replace(center, draining=(("127.0.0.1", 9001),)) for center in one.centers
            ),
        )
        for one in CONTENT.content.endpoints.services
    )
    draining = replace(CONTENT.content, endpoints=EndpointsSection(services=services))
    found = marked(draining, {"tickets": frozenset({KEYS[0], KEYS[1]})})
    assert out_of(found, "tickets") == [(("127.0.0.1", 9002),), ()]


def test_who_is_out_is_as_if_it_were_drained_where_it_is_asked_who_is_left() -> None:
    found = shunned(CONTENT.content, {"tickets": frozenset({KEYS[0]})})
    (tickets,) = (one for one in found.endpoints.services if one.service == "tickets")
    assert [one.draining for one in tickets.centers] == [(("127.0.0.1", 9001),), ()]
