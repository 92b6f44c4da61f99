"""What of a placement is left where a plane knows addresses only."""

from dataclasses import replace

from controlplane.domain.instances.placement import Placement, placement
from controlplane.domain.instances.usable import lost_sessions, usable
from controlplane.domain.services import AllDown, StickyMode
from controlplane.domain.snapshot import ServiceEndpoints
from tests.domain.instances.test_placement import HALVES, at, cluster, ports, service, shape


def three(*out: int, **more: object) -> ServiceEndpoints:
    """Two endpoints and a standby east, one west."""
    return service(
        cluster("east", "", 1, 2, out=at(*(port for port in out if port < 3))),
        cluster("east", "spare", 3, standby=True, out=at(*(port for port in out if port == 3))),
        cluster("west", "", 6, out=at(*(port for port in out if port > 5)), **more),
    )


def left(*out: int, weights: dict[str, int] = HALVES) -> list[list[list[int]]]:
    return shape(usable(placement(three(*out), weights)))


def test_who_is_out_leaves_the_others_their_parts() -> None:
    placed = placement(three(), HALVES)
    assert usable(placed) is placed
    assert left(1) == [[[2], [6]], [[3]]]
    (east, _) = usable(placement(three(1), HALVES)).bearing
    assert east.parts == (500_000,)


def test_the_next_tier_bears_when_the_first_has_nobody() -> None:
    assert left(1, 2, 6) == [[[3]]]
    assert left(6, weights={"west": 10_000}) == [[[1, 2]], [[3]]]
    assert [ports(one) for one in usable(placement(three(1, 2), HALVES)).bearing] == [[6]]


def test_when_all_are_out_all_are_asked_but_not_where_it_is_closed() -> None:
    assert left(1, 2, 3, 6) == [[[1, 2], [6]], [[3]]]
    closed = replace(three(1, 2, 3, 6), all_down=AllDown.CLOSED)
    assert usable(placement(closed, HALVES)) == Placement(closed=True)


def test_planes_that_keep_no_sessions_say_so() -> None:
    (note,) = lost_sessions([replace(three(), stickiness=StickyMode.SESSION), three()], "nginx")
    assert note.subject == "service/tickets"
    assert "nginx keeps no sessions" in note.message
