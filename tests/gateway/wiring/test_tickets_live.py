"""Real proxies check tickets by themselves: without an agent only a valid one goes on."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from benchmarks.free_ports import free_port
from controlplane.domain.admission.session_queue.tickets import (
    Ticket,
    audiences,
    claims,
    cookie_name,
)
from gateway.admission.session_queue.signing import Signer, jwk_set, new_key
from gateway.wiring.plan import Plan, WhenAway
from tests.gateway.wiring.sites import envoy_site, haproxy_site
from tests.servers.echo import echo
from tests.servers.proxies import Client

QUEUES = ("seats",)
KEY = new_key()
SIGNER = Signer(KEY, audiences("seats"))


@pytest.fixture(scope="module", params=["envoy", "haproxy"])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp(request.param)
    service, listen, nobody = (free_port() for _ in range(3))
    plan = Plan(
        agent=("127.0.0.1", nobody),
        service=("127.0.0.1", service),
        when_away=WhenAway.REFUSE,
        queues=QUEUES,
        # The old key is still believed while keys change.
        ticket_keys=jwk_set([new_key(), KEY]),
        key_folder=str(folder),
    )
    site = envoy_site if request.param == "envoy" else haproxy_site
    with echo(service), site(folder, listen, plan):
        yield listen


def ticket(**changes: Any) -> dict[str, object]:
    now_s = time.time()
    usual = Ticket(
        session="abc", admitted=True, issued_s=now_s, expires_s=now_s + 30, entered_s=now_s
    )
    return {**claims("seats", usual), **changes}


def status(port: int, token: str) -> int:
    shown = f"{cookie_name('seats')}={token}"
    with contextlib.closing(Client(port)) as client:
        return client.ask("/", headers=[("Cookie", shown)]).status


def test_a_valid_ticket_goes_on_without_an_agent(port: int) -> None:
    assert status(port, SIGNER.sign(ticket())) == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": int(time.time()) - 10},
        {"aud": "seats.waiting", "adm": False},
        {"aud": "other"},
        {"iss": "somebody"},
    ],
)
def test_a_ticket_for_something_else_does_not(port: int, changes: dict[str, object]) -> None:
    assert status(port, SIGNER.sign(ticket(**changes))) == 503


def test_a_ticket_that_nobody_signed_does_not(port: int) -> None:
    head = {"kid": SIGNER.id}
    good = SIGNER.sign(ticket())
    other = Signer(new_key(), audiences("seats")).sign(ticket())
    private = load_pem_private_key(KEY, None)
    assert status(port, jwt.encode(ticket(), private, "ES256")) == 200
    forged = [
        other,
        jwt.encode(ticket(), None, "none", headers=head),
        jwt.encode(ticket(), "a secret that is long enough for it", "HS256", headers=head),
        ".".join((*good.split(".")[:2], other.split(".")[2])),
        ".".join((good.split(".")[0], other.split(".")[1], good.split(".")[2]))[:-4] + "AAAA",
        "x",
        "",
    ]
    assert [status(port, one) for one in forged] == [503] * len(forged)
