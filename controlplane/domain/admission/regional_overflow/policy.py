"""What is declared of regional overflow: load, stations, and the form of their messages."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.errors import Invalid

MOST_MESSAGE_BYTES = 1 << 24
MOST_GROUPS = 10_000
PREFIX_BYTES = (1, 2, 4)


class FramingKind(StrEnum):
    """Where a message ends: at a delimiter, after a length that stands before it, or after a fixed
    number of bytes."""

    DELIMITER = "delimiter"
    LENGTH_PREFIX = "length_prefix"
    FIXED = "fixed"


class StationForm(StrEnum):
    """How a station's id stands in its message."""

    TEXT = "text"
    UNSIGNED = "unsigned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """Messages in a stream.

    Attributes:
        delimiter: what ends a message, 1..8 characters below 256, with `delimiter`.
        length_bytes: of the length before a message, 1, 2 or 4, big-endian, with `length_prefix`;
            counts_itself: whether the length counts its own bytes.
        fixed_bytes: of each message, with `fixed`.
        most_bytes: a longer message is illegal, 1..16,777,216.
    """

    kind: FramingKind = FramingKind.DELIMITER
    delimiter: str = "\n"
    length_bytes: int = 2
    counts_itself: bool = False
    fixed_bytes: int = 64
    most_bytes: int = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class StationId:
    """Where the id of a station stands in a message (behind its length, if there is one).

    Attributes:
        form: `text` may have a `separator`, and is then field number `index`, from 0; without one,
            and with `unsigned` (big-endian), it is `bytes` bytes from `offset` on.
    """

    form: StationForm = StationForm.TEXT
    separator: str = ","
    index: int = 0
    offset: int = 0
    bytes: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StationGroup:
    """Stations of one region: ids with one of these prefixes, or numbers in a range.

    Attributes:
        first, last: both ends belong to it; None is no range.
    """

    region: str
    prefixes: tuple[str, ...] = ()
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionalOverflowPolicy:
    """How load is counted and when a region gives way.

    Attributes:
        alpha: weight of connections over the limit; the rest is the use of the database pool,
            0..1. While nobody tells that use, connections count alone.
        connection_limit: connections that one server may have, 1..1,000,000.
        critical_load: from there on a region's messages go elsewhere, above 0..2.
        return_load: below it they come back, above 0, at most critical_load.
        tick_s: how much of a region goes elsewhere is set anew after so long, 0.1..60.
        default_region: of stations that belong to no group; "" drops what they send.
        replies: a server answers each message. One that is not answered within `reply_s`
            (0.05..600), or whose connection ends before, is given to another server.
        redirect: what a station is told in place of a server's answer, with {address} and {port} of
            the server that it is to connect to itself; "" stays in between.
        stations: the first group that fits counts.
    """

    alpha: float = 0.7
    connection_limit: int = 1_000
    critical_load: float = 0.85
    return_load: float = 0.75
    tick_s: float = 1.0
    default_region: str = ""
    replies: bool = True
    reply_s: float = 5.0
    redirect: str = ""
    framing: Framing = Framing()
    station_id: StationId = StationId()
    stations: tuple[StationGroup, ...] = ()


def check_regional_overflow(policy: RegionalOverflowPolicy) -> None:
    """Raise Invalid `policy_invalid` for what cannot be carried out."""
    bounds = (
        ("alpha", policy.alpha, 0.0, 1.0),
        ("connection_limit", policy.connection_limit, 1, 1_000_000),
        ("critical_load", policy.critical_load, 0.01, 2.0),
        ("return_load", policy.return_load, 0.01, policy.critical_load),
        ("tick_s", policy.tick_s, 0.1, 60.0),
        ("reply_s", policy.reply_s, 0.05, 600.0),
        ("framing.most_bytes", policy.framing.most_bytes, 1, MOST_MESSAGE_BYTES),
        ("framing.fixed_bytes", policy.framing.fixed_bytes, 1, policy.framing.most_bytes),
        ("station_id.index", policy.station_id.index, 0, 1_000),
        ("station_id.offset", policy.station_id.offset, 0, policy.framing.most_bytes),
        ("station_id.bytes", policy.station_id.bytes, 1, 64),
    )
    for name, value, low, high in bounds:
        if not low <= value <= high:
            raise _invalid(f"{name} is {value}: give {low}..{high}")
    _check_signs("framing.delimiter", policy.framing.delimiter, least=1)
    _check_signs("station_id.separator", policy.station_id.separator, least=0)
    if policy.framing.length_bytes not in PREFIX_BYTES:
        raise _invalid(f"framing.length_bytes is {policy.framing.length_bytes}: give 1, 2 or 4")
    if not policy.stations and not policy.default_region:
        raise _invalid("no station belongs to a region: declare stations, or a default_region")
    if len(policy.stations) > MOST_GROUPS:
        raise _invalid(f"there are {len(policy.stations)} groups: keep them within {MOST_GROUPS}")
    for group in policy.stations:
        _check_group(group)


def redirection(policy: RegionalOverflowPolicy, address: str, port: int) -> bytes:
    """What a station is told, so that it connects to a server itself; b"" says nothing."""
    told = policy.redirect.replace("{address}", address).replace("{port}", str(port))
    return told.encode("utf-8", "surrogatepass")


def _check_signs(name: str, signs: str, least: int) -> None:
    if not least <= len(signs) <= 8 or any(ord(sign) > 255 for sign in signs):
        raise _invalid(f"{name} is {signs!r}: give {least}..8 characters, each one byte")


def _check_group(group: StationGroup) -> None:
    where = f"stations of {group.region}"
    if (group.first is None) != (group.last is None):
        raise _invalid(f"{where} have half a range: give first and last")
    if group.first is not None and group.last is not None and group.first > group.last:
        raise _invalid(f"{where} have a range {group.first}..{group.last} with nobody in it")
    if group.first is None and not group.prefixes:
        raise _invalid(f"{where} have neither prefixes nor a range")


def _invalid(words: str) -> Invalid:
    return Invalid("policy_invalid", f"regional_overflow: {words}")
