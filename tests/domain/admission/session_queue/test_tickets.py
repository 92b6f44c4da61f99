import pytest

from controlplane.domain.admission.session_queue.tickets import (
    Fault,
    Ticket,
    claims,
    cookie_name,
    ticket_of,
)

INSIDE = Ticket(
    session="abc", admitted=True, issued_s=1_000, expires_s=1_020, entered_s=900.5, source="d1"
)
WAITING = Ticket(session="abc", admitted=False, issued_s=1_000, expires_s=1_060, place=999.25)


@pytest.mark.parametrize("ticket", [INSIDE, WAITING])
def test_claims_say_all_of_a_ticket(ticket: Ticket) -> None:
    assert ticket_of("seats", claims("seats", ticket), ticket.source) == ticket


def test_only_a_ticket_for_the_inside_has_the_queues_name() -> None:
    assert claims("seats", INSIDE)["aud"] == "seats"
    assert claims("seats", INSIDE)["adm"] is True
    assert claims("seats", WAITING)["aud"] == "seats.waiting"
    assert "adm" not in claims("seats", WAITING)


def test_proxies_read_whole_seconds() -> None:
    ticket = Ticket(session="a", admitted=False, issued_s=1.5, expires_s=2.5, place=1.0)
    assert (claims("q", ticket)["iat"], claims("q", ticket)["exp"]) == (1, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "other"},
        {"aud": None},
        {"sub": ""},
        {"sub": "x" * 65},
        {"sub": 5},
        {"ent": "now"},
        {"ent": True},
        {"exp": None},
    ],
)
def test_what_is_no_ticket_of_this_queue_is_not_read(changes: dict[str, object]) -> None:
    found = {**claims("seats", INSIDE), **changes}
    assert ticket_of("seats", found, "d1") is Fault.UNREADABLE


def test_claims_that_are_missing_are_not_made_up() -> None:
    assert ticket_of("seats", {}, "d1") is Fault.UNREADABLE


def test_a_ticket_is_worth_nothing_from_another_address() -> None:
    found = claims("seats", INSIDE)
    assert ticket_of("seats", found, "d2") is Fault.FOREIGN_SOURCE
    assert ticket_of("seats", found, "") == INSIDE
    assert ticket_of("seats", claims("seats", WAITING), "d1") is Fault.FOREIGN_SOURCE


def test_each_queue_has_a_cookie_of_its_own() -> None:
    assert cookie_name("seats") == "signalbox_ticket_seats"
