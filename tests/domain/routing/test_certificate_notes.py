"""What is wrong with certificates as routes name them."""

from controlplane.domain.routing.certificate_notes import certificate_notes
from controlplane.domain.routing.route import Route


def route(name: str, tls: str) -> Route:
    return Route(id=name, service="web", hosts=("a.example.com",), tls=tls)


def test_one_certificate_for_a_host_needs_no_word() -> None:
    assert certificate_notes([route("r1", "site"), route("r2", "")], [443]) == ()


def test_two_certificates_for_a_host_are_told_with_the_one_that_is_shown() -> None:
    (note,) = certificate_notes([route("r1", "b"), route("r2", "a")], [443])
    assert (note.code, note.subject) == ("certificate_disputed", "certificate/b")
    assert note.held == "gateways show a for a.example.com"


def test_a_certificate_without_a_port_is_told() -> None:
    (note,) = certificate_notes([route("r1", "site"), route("r2", "site")], [])
    assert (note.code, note.subject) == ("certificate_without_port", "certificate/site")
