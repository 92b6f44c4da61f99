"""Which certificate is shown for which name."""

from controlplane.domain.routing.route import Route
from controlplane.domain.routing.tls import Certificate, TlsHost, disputed, tls_hosts


def certificate(name: str) -> Certificate:
    return Certificate(name=name, chain_file=f"/c/{name}/chain.pem", key_file=f"/c/{name}/key.pem")


def route(name: str, tls: str, *hosts: str) -> Route:
    return Route(id=name, service="web", hosts=hosts, tls=tls)


def test_a_certificate_is_shown_for_the_hosts_of_its_routes() -> None:
    routes = [
        route("r1", "site", "www.example.com", "example.com"),
        route("r2", "site", "www.example.com"),
        route("r3", "pay", "*.pay.example.com"),
        route("r4", "", "plain.example.com"),
        route("r5", "gone", "gone.example.com"),
    ]
    site, pay, idle = certificate("site"), certificate("pay"), certificate("idle")
    assert tls_hosts([site, pay, idle], routes) == (
        TlsHost(certificate=pay, names=("*.pay.example.com",)),
        TlsHost(certificate=site, names=("example.com", "www.example.com")),
    )
    assert disputed(routes) == {}


def test_of_two_certificates_for_a_host_the_first_by_name_is_shown() -> None:
    routes = [route("r1", "b", "one.example.com"), route("r2", "a", "one.example.com")]
    hosts = tls_hosts([certificate("a"), certificate("b")], routes)
    assert hosts == (TlsHost(certificate=certificate("a"), names=("one.example.com",)),)
    assert disputed(routes) == {"one.example.com": ("a", "b")}
