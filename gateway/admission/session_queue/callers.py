"""Who asks: the ticket that a request shows, and the cookie that its answer carries.

A ticket that is not believed is none: its owner is somebody new.
"""

import hashlib
import secrets
from dataclasses import dataclass

from controlplane.domain.admission.asking import Asked
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.admission.session_queue.room import Standing, Visited, Visitor
from controlplane.domain.admission.session_queue.tickets import (
    Fault,
    Ticket,
    audiences,
    claims,
    cookie_name,
    ticket_of,
)
from gateway.admission.session_queue.signing import Signer

SESSION_BYTES = 12
DIGEST_LENGTH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One who asks.

    Attributes:
        session: of his ticket, or a new one.
        ticket: what he shows; None is nothing, or nothing that is believed.
        source: digest of his address; "" where tickets are bound to none.
        put_out: the session of a ticket that has been revoked; "" is none.
    """

    session: str
    ticket: Ticket | None
    source: str
    put_out: str = ""

    def admitted(self, now_s: float) -> bool:
        """His ticket lets him through without asking."""
        ticket = self.ticket
        return ticket is not None and ticket.admitted and now_s < ticket.expires_s

    def visitor(self, policy: SessionQueuePolicy, now_s: float) -> Visitor:
        """As the pool gets to know him; a ticket that is long over says nothing of a place."""
        ticket, chance = self.ticket, secrets.randbelow(1 << 30) / (1 << 30)
        if ticket is None:
            return Visitor(session=self.session, chance=chance)
        if ticket.admitted:
            known = now_s < ticket.expires_s + policy.idle_s
            age_s = max(0.0, now_s - ticket.entered_s) if known else -1.0
            return Visitor(session=self.session, chance=chance, age_s=age_s)
        place = ticket.place if now_s < ticket.expires_s else 0.0
        return Visitor(session=self.session, chance=chance, place=place)


def signer(private: bytes, queue: str, policy: SessionQueuePolicy) -> Signer:
    """The signer of a queue."""
    return Signer(private, audiences(queue), policy.keys)


def caller(queue: str, policy: SessionQueuePolicy, signed: Signer, asked: Asked) -> Caller:
    """Who sends a request."""
    source = ""
    if policy.bound_to_source:
        digest = hashlib.sha256(f"{queue} {asked.request.source}".encode())
        source = digest.hexdigest()[:DIGEST_LENGTH]
    ticket = _shown(queue, signed, asked, source)
    if ticket is not None and ticket.session not in policy.revoked:
        return Caller(session=ticket.session, ticket=ticket, source=source)
    put_out = "" if ticket is None else ticket.session
    session = secrets.token_urlsafe(SESSION_BYTES)
    return Caller(session=session, ticket=None, source=source, put_out=put_out)


def ticket_for(who: Caller, visited: Visited, policy: SessionQueuePolicy, now_s: float) -> Ticket:
    """The ticket that somebody gets after a visit."""
    if visited.standing is Standing.INSIDE:
        entered_s = now_s - visited.age_s
        return Ticket(
            session=who.session,
            admitted=True,
            issued_s=now_s,
            expires_s=min(now_s + policy.ticket_s, entered_s + policy.session_s),
            entered_s=entered_s,
            source=who.source,
        )
    return Ticket(
        session=who.session,
        admitted=False,
        issued_s=now_s,
        expires_s=now_s + policy.abandon_s,
        place=visited.place,
        source=who.source,
    )


def cookie(queue: str, signed: Signer, ticket: Ticket, asked: Asked) -> tuple[str, str]:
    """The header that gives a ticket to a browser. It is kept beyond its time: it still says who
    shows it.
    """
    token = signed.sign(claims(queue, ticket))
    return "set-cookie", f"{cookie_name(queue)}={token}; {_attributes(asked)}"


def no_cookie(queue: str, asked: Asked) -> tuple[str, str]:
    """The header that takes a ticket away."""
    return "set-cookie", f"{cookie_name(queue)}=; Max-Age=0; {_attributes(asked)}"


def _shown(queue: str, signed: Signer, asked: Asked, source: str) -> Ticket | None:
    token = asked.request.cookies.get(cookie_name(queue), "")
    found = signed.read(token) if token else None
    if found is None:
        return None
    ticket = ticket_of(queue, found, source)
    return None if isinstance(ticket, Fault) else ticket


def _attributes(asked: Asked) -> str:
    secure = asked.request.headers.get("x-forwarded-proto", "") == "https"
    return "Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")
