"""Stations, their messages, and the servers that get them."""

import math
from dataclasses import replace

import pytest

from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.regional_overflow.choice import (
    OverflowFacts,
    ServerLoad,
    decide,
    load,
    next_away,
    order,
    regions,
)
from controlplane.domain.admission.regional_overflow.framing import (
    NOT_YET,
    Found,
    first,
    region_finder,
    station_of,
)
from controlplane.domain.admission.regional_overflow.policy import (
    Framing,
    FramingKind,
    RegionalOverflowPolicy,
    StationForm,
    StationGroup,
    StationId,
    check_regional_overflow,
    redirection,
)
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import Request

POLICY = RegionalOverflowPolicy(
    connection_limit=100,
    stations=(
        StationGroup(region="north", first=1, last=500),
        StationGroup(region="south", prefixes=("S-", "T-")),
    ),
)
NORTH = ServerLoad(datacenter="dc-north", region="north", connections=10)
SOUTH = ServerLoad(datacenter="dc-south", region="south", connections=20)
WEST = ServerLoad(datacenter="dc-west", region="west", connections=30)


def asked(station: str = "7", region: str = "north") -> Asked:
    request = Request(path="/")
    return Asked(request=request, now_s=0.0, service="stations", region=region, user=station)


def tried(*servers: ServerLoad, away: float = 0.0) -> list[str]:
    facts = OverflowFacts(servers=servers, away={"north": away})
    return [one.datacenter for one in order(POLICY, asked(), facts)]


def test_load_is_of_connections_and_the_pool_and_of_connections_alone_while_it_is_unknown() -> None:
    assert load(POLICY, replace(NORTH, pool_use=0.5)) == pytest.approx(0.7 * 0.1 + 0.3 * 0.5)
    assert load(POLICY, NORTH) == pytest.approx(0.1)


def test_a_message_goes_home_and_to_the_least_loaded_when_home_is_full_or_dead() -> None:
    assert tried(WEST, SOUTH, NORTH) == ["dc-north", "dc-south", "dc-west"]
    full = replace(NORTH, connections=85)
    assert tried(WEST, SOUTH, full) == ["dc-south", "dc-west", "dc-north"]
    assert tried(WEST, SOUTH, replace(NORTH, alive=False)) == ["dc-south", "dc-west"]
    assert tried(NORTH) == ["dc-north"]
    assert tried(full) == ["dc-north"]


def test_when_nobody_has_room_the_least_loaded_of_all_is_tried_first() -> None:
    crowded = [replace(one, connections=90 + one.connections) for one in (WEST, SOUTH, NORTH)]
    assert tried(*crowded) == ["dc-north", "dc-south", "dc-west"]
    assert tried(replace(NORTH, connections=99), replace(SOUTH, connections=90)) == [
        "dc-south",
        "dc-north",
    ]


def test_the_same_part_of_the_stations_goes_elsewhere() -> None:
    facts = OverflowFacts(servers=(NORTH, SOUTH), away={"north": 0.3})
    left = [
        station
        for station in map(str, range(1_000))
        if order(POLICY, asked(station), facts)[0] is SOUTH
    ]
    assert len(left) == pytest.approx(300, abs=45)
    more = replace(facts, away={"north": 0.4})
    assert all(order(POLICY, asked(station), more)[0] is SOUTH for station in left)


def test_a_decision_names_the_data_centre() -> None:
    home = decide(POLICY, asked(), OverflowFacts(servers=(NORTH, SOUTH)))
    assert (home.verdict, home.details["datacenter"]) == (Verdict.ADMIT, "dc-north")
    away = decide(POLICY, asked(), OverflowFacts(servers=(SOUTH,)))
    assert (away.verdict, away.reason, away.service) == (
        Verdict.DIVERT,
        "region_overflow",
        "stations",
    )
    dead = decide(POLICY, asked(), OverflowFacts(servers=(replace(SOUTH, alive=False),)))
    assert (dead.verdict, dead.status) == (Verdict.REFUSE, 503)
    assert decide(POLICY, asked(), OverflowFacts()) is ADMITTED


def played(demand: list[float], start: float = 0.0) -> list[float]:
    """Shares tick by tick when B follows what comes home."""
    away, shares = start, []
    for rate in demand:
        home = replace(NORTH, connections=round(rate * (1.0 - away) * 100))
        away = next_away(POLICY, away, home)
        shares.append(away)
    return shares


def test_a_region_at_twice_its_load_gives_way_once_and_comes_back_once() -> None:
    shares = played([0.5] * 5 + [1.6] * 30 + [0.5] * 30)
    assert shares[:5] == [0.0] * 5
    assert shares[5] == pytest.approx(0.5)
    # Within the band nothing moves any more.
    assert len(set(shares[6:35])) == 1
    assert shares[-1] == 0.0
    assert shares[35:] == sorted(shares[35:], reverse=True)


def test_a_home_that_got_nothing_begins_with_a_little_and_a_dead_one_keeps_what_it_had() -> None:
    assert next_away(POLICY, 1.0, NORTH) == pytest.approx(0.95)
    assert next_away(POLICY, 0.4, replace(NORTH, alive=False)) == 0.4
    assert next_away(POLICY, 0.4, None) == 0.4


def test_the_server_of_a_region_is_one_that_lives() -> None:
    second = replace(NORTH, datacenter="dc-north-2", connections=5)
    found = regions((NORTH, second, SOUTH))
    assert found == {"north": second, "south": SOUTH}
    dead = replace(second, alive=False)
    assert regions((dead, NORTH))["north"] is NORTH


@pytest.mark.parametrize(
    ("framing", "buffer", "found"),
    [
        (Framing(), b"12,bikes=4\n13,", Found(message=b"12,bikes=4\n", body=b"12,bikes=4")),
        (Framing(), b"12,bik", NOT_YET),
        (Framing(delimiter="\r\n"), b"a\r\nb", Found(message=b"a\r\n", body=b"a")),
        (
            Framing(kind=FramingKind.FIXED, fixed_bytes=3),
            b"abcd",
            Found(message=b"abc", body=b"abc"),
        ),
        (Framing(kind=FramingKind.FIXED, fixed_bytes=3), b"ab", NOT_YET),
        (
            Framing(kind=FramingKind.LENGTH_PREFIX),
            b"\x00\x02abc",
            Found(message=b"\x00\x02ab", body=b"ab"),
        ),
        (
            Framing(kind=FramingKind.LENGTH_PREFIX, counts_itself=True),
            b"\x00\x04abc",
            Found(message=b"\x00\x04ab", body=b"ab"),
        ),
        (Framing(kind=FramingKind.LENGTH_PREFIX), b"\x00", NOT_YET),
        (Framing(kind=FramingKind.LENGTH_PREFIX), b"\x00\x02a", NOT_YET),
    ],
)
def test_messages_in_a_stream(framing: Framing, buffer: bytes, found: Found) -> None:
    assert first(framing, buffer) == found


@pytest.mark.parametrize(
    ("framing", "buffer", "words"),
    [
        (Framing(most_bytes=4), b"12345", "5 bytes or more, the limit is 4"),
        (
            Framing(kind=FramingKind.LENGTH_PREFIX, most_bytes=9),
            b"\xff\xff",
            "65537 bytes or more, the limit is 9",
        ),
        (
            Framing(kind=FramingKind.LENGTH_PREFIX, counts_itself=True),
            b"\x00\x01",
            "its length is 1",
        ),
    ],
)
def test_what_cannot_be_read_says_why(framing: Framing, buffer: bytes, words: str) -> None:
    assert words in first(framing, buffer).illegal


@pytest.mark.parametrize(
    ("where", "body", "station"),
    [
        (StationId(), b" 12 ,bikes=4", "12"),
        (StationId(index=1, separator=";"), b"v1;S-9;x", "S-9"),
        (StationId(index=3), b"a,b", None),
        (StationId(separator="", offset=2, bytes=3), b"v1042rest", "042"),
        (StationId(separator="", offset=20), b"short", None),
        (StationId(form=StationForm.UNSIGNED, offset=1, bytes=2), b"\x01\x02\x03", "515"),
        (StationId(form=StationForm.UNSIGNED), b"\x01", None),
    ],
)
def test_the_station_of_a_message(where: StationId, body: bytes, station: str | None) -> None:
    assert station_of(where, body) == station


def test_the_region_of_a_station() -> None:
    region = region_finder(POLICY)
    found = [region(one) for one in ("1", "500", "501", "S-9", "T-1", "X")]
    assert found == ["north", "north", None, "south", "south", None]
    assert region_finder(replace(POLICY, default_region="west"))("X") == "west"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"alpha": math.nan}, "alpha is nan: give 0.0..1.0"),
        ({"connection_limit": 0}, "connection_limit is 0"),
        ({"return_load": 0.9}, r"return_load is 0.9: give 0.01..0.85"),
        ({"framing": Framing(delimiter="")}, "framing.delimiter is ''"),
        ({"framing": Framing(delimiter="站")}, "each one byte"),
        ({"framing": Framing(length_bytes=3)}, "framing.length_bytes is 3: give 1, 2 or 4"),
        ({"framing": Framing(most_bytes=10)}, "framing.fixed_bytes is 64: give 1..10"),
        ({"station_id": StationId(bytes=0)}, "station_id.bytes is 0"),
        ({"stations": ()}, "no station belongs to a region"),
        ({"stations": POLICY.stations * 5_001}, "there are 10002 groups"),
        ({"stations": (StationGroup(region="x", first=1),)}, "stations of x have half a range"),
        ({"stations": (StationGroup(region="x", first=2, last=1),)}, "with nobody in it"),
        ({"stations": (StationGroup(region="x"),)}, "neither prefixes nor a range"),
    ],
)
def test_what_cannot_be_carried_out_says_what(values: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        check_regional_overflow(replace(POLICY, **values))  # type: ignore[arg-type]


def test_what_can_be_carried_out() -> None:
    check_regional_overflow(POLICY)
    check_regional_overflow(RegionalOverflowPolicy(default_region="north"))


def test_a_station_may_be_told_where_to_connect_itself() -> None:
    policy = replace(POLICY, redirect="MOVED {address} {port}\n")
    assert redirection(policy, "192.0.2.1", 9000) == b"MOVED 192.0.2.1 9000\n"
    assert redirection(POLICY, "192.0.2.1", 9000) == b""
