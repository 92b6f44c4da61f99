"""Messages in a stream of bytes as their protocol frames them, and the station of each.

Bytes are passed on as they came: what is read here decides only where they go.
"""

from collections.abc import Callable
from dataclasses import dataclass

from controlplane.domain.admission.regional_overflow.policy import (
    Framing,
    FramingKind,
    RegionalOverflowPolicy,
    StationForm,
    StationGroup,
    StationId,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The first message in a buffer.

    Attributes:
        message: with its delimiter or length; b"" when it has not come whole yet.
        body: without them.
        illegal: why nothing that follows can be read; "" is fine.
    """

    message: bytes = b""
    body: bytes = b""
    illegal: str = ""


NOT_YET = Found()


def first(framing: Framing, buffer: bytes) -> Found:
    """The first message in what has come so far."""
    if framing.kind is FramingKind.DELIMITER:
        return _delimited(framing, buffer)
    if framing.kind is FramingKind.FIXED:
        whole = buffer[: framing.fixed_bytes]
        return NOT_YET if len(whole) < framing.fixed_bytes else Found(message=whole, body=whole)
    return _prefixed(framing, buffer)


def station_of(where: StationId, body: bytes) -> str | None:
    """The id of who sent a message; None when the message is too short or has none."""
    if where.form is StationForm.UNSIGNED:
        signs = body[where.offset : where.offset + where.bytes]
        return str(int.from_bytes(signs, "big")) if len(signs) == where.bytes else None
    text = body.decode("latin-1")
    if where.separator:
        fields = text.split(where.separator, where.index + 1)
        found = fields[where.index] if len(fields) > where.index else ""
    else:
        found = text[where.offset : where.offset + where.bytes]
    return found.strip() or None


def region_finder(policy: RegionalOverflowPolicy) -> Callable[[str], str | None]:
    """Station -> its region; None for one that belongs nowhere."""
    groups = policy.stations

    def region(station: str) -> str | None:
        number = int(station) if station.isascii() and station.isdigit() else None
        for group in groups:
            if _belongs(group, station, number):
                return group.region
        return policy.default_region or None

    return region


def _belongs(group: StationGroup, station: str, number: int | None) -> bool:
    if group.prefixes and station.startswith(group.prefixes):
        return True
    if number is None or group.first is None or group.last is None:
        return False
    return group.first <= number <= group.last


def _delimited(framing: Framing, buffer: bytes) -> Found:
    signs = framing.delimiter.encode("latin-1")
    end = buffer.find(signs, 0, framing.most_bytes + len(signs))
    if end >= 0:
        return Found(message=buffer[: end + len(signs)], body=buffer[:end])
    return NOT_YET if len(buffer) <= framing.most_bytes else _too_long(framing, len(buffer))


def _prefixed(framing: Framing, buffer: bytes) -> Found:
    head = framing.length_bytes
    if len(buffer) < head:
        return NOT_YET
    told = int.from_bytes(buffer[:head], "big")
    whole = told if framing.counts_itself else told + head
    if whole < head:
        return Found(illegal=f"its length is {told}, less than that of the length itself")
    if whole > framing.most_bytes:
        return _too_long(framing, whole)
    if len(buffer) < whole:
        return NOT_YET
    return Found(message=buffer[:whole], body=buffer[head:whole])


def _too_long(framing: Framing, length: int) -> Found:
    return Found(illegal=f"it has {length} bytes or more, the limit is {framing.most_bytes}")
