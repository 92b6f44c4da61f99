"""What a signed ticket says, and whom it is believed. Signing is done by the agent.

A session has one ticket at a time: for waiting, with its place, or for the inside. Only the latter
has the queue's name as its audience, so that a proxy that checks signature, audience and expiry
lets exactly those through. A ticket that is not believed makes its owner somebody new, who goes to
the back; so one that has been tampered with, or is of another queue or address, wins nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

ISSUER = "signalbox"
# Behind the queue's name, as the audience of tickets for waiting.
WAITING_SUFFIX = ".waiting"
COOKIE_PREFIX = "signalbox_ticket_"
LONGEST_SESSION = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What a ticket says.

    Attributes:
        session: who.
        admitted: for the inside.
        issued_s, expires_s, entered_s: Unix time; entered_s is 0 while he waits.
        place: in the line, 0 inside.
        source: digest of the address it was given to; "" is bound to none.
    """

    session: str
    admitted: bool
    issued_s: float
    expires_s: float
    entered_s: float = 0.0
    place: float = 0.0
    source: str = ""


class Fault(StrEnum):
    """Why a ticket is not believed."""

    UNREADABLE = "unreadable"
    FOREIGN_SOURCE = "foreign_source"


def audiences(queue: str) -> tuple[str, str]:
    """Of tickets for the inside, and of those for waiting."""
    return queue, queue + WAITING_SUFFIX


def cookie_name(queue: str) -> str:
    """The cookie of a queue's tickets: one for each, because proxies read one token a cookie."""
    return COOKIE_PREFIX + queue


def claims(queue: str, ticket: Ticket) -> dict[str, object]:
    """A ticket as claims of a JSON web token (RFC 7519)."""
    inside, waiting = audiences(queue)
    found: dict[str, object] = {
        "iss": ISSUER,
        "aud": inside if ticket.admitted else waiting,
        "sub": ticket.session,
        "iat": int(ticket.issued_s),
        # Proxies read whole seconds only.
        "exp": math.ceil(ticket.expires_s),
    }
    if ticket.admitted:
        found |= {"adm": True, "ent": ticket.entered_s}
    else:
        found |= {"plc": ticket.place}
    if ticket.source:
        found["src"] = ticket.source
    return found


def ticket_of(queue: str, found: Mapping[str, object], source: str) -> Ticket | Fault:
    """The ticket in claims whose signature, issuer and time have been checked.

    Args:
        source: digest of the address that shows it; "" does not compare.
    """
    try:
        ticket = _read(queue, found)
    except (KeyError, TypeError, ValueError):
        return Fault.UNREADABLE
    if source and ticket.source != source:
        return Fault.FOREIGN_SOURCE
    return ticket


def _read(queue: str, found: Mapping[str, object]) -> Ticket:
    inside, waiting = audiences(queue)
    if found["aud"] not in (inside, waiting):
        raise ValueError(found["aud"])
    session = found["sub"]
    if not isinstance(session, str) or not 0 < len(session) <= LONGEST_SESSION:
        raise ValueError("sub")
    admitted = found["aud"] == inside
    return Ticket(
        session=session,
        admitted=admitted,
        issued_s=_number(found["iat"]),
        expires_s=_number(found["exp"]),
        entered_s=_number(found["ent"]) if admitted else 0.0,
        place=0.0 if admitted else _number(found["plc"]),
        source=str(found.get("src", "")),
    )


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a number is asked for")
    return float(value)
