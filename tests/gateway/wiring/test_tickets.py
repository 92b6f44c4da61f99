"""What proxies are told about tickets, as text."""

from pathlib import Path

import pytest
import yaml

from controlplane.domain.errors import Invalid
from gateway.admission.session_queue.signing import new_key
from gateway.commands.wiring import wiring

AGENT = ("--agent", "127.0.0.1:18080")


@pytest.fixture
def key(tmp_path: Path) -> str:
    file = tmp_path / "ticket.pem"
    file.write_bytes(new_key())
    return str(file)


def test_envoy_reads_tickets_before_it_asks(key: str) -> None:
    text = wiring(["--plane", "envoy", "--queue", "seats", "--ticket-key", key])
    tickets, asks, *_ = yaml.safe_load(text)["http_filters"]
    provider = tickets["typed_config"]["providers"]["seats"]
    assert provider["audiences"] == ["seats"]
    assert provider["from_cookies"] == ["signalbox_ticket_seats"]
    assert '"kty": "EC"' in provider["local_jwks"]["inline_string"]
    assert '"d"' not in provider["local_jwks"]["inline_string"]
    assert asks["typed_config"]["filter_enabled_metadata"]["invert"] is True


def test_several_queues_are_told_apart_by_their_routes(key: str) -> None:
    queues = ["--queue", "a", "--queue", "b"]
    text = wiring(["--plane", "envoy", *queues, "--ticket-key", key])
    tickets = yaml.safe_load(text)["http_filters"][0]["typed_config"]
    assert set(tickets["requirement_map"]) == {"a", "b"}
    assert "rules" not in tickets
    assert "requirement_name: QUEUE" in text


def test_without_a_queue_every_request_is_asked_about() -> None:
    asks, *_ = yaml.safe_load(wiring(["--plane", "envoy"]))["http_filters"]
    assert "filter_enabled_metadata" not in asks["typed_config"]


def test_haproxy_gets_files_of_keys_and_lets_nobody_else_past_the_agent(key: str) -> None:
    options = ["--queue", "seats", "--ticket-key", key, "--key-folder", "/etc/x"]
    text = wiring(["--plane", "haproxy", *AGENT, "--when-away", "refuse", *options])
    assert "# Put this into /etc/x/signalbox-ticket-0.pem:" in text
    assert "BEGIN PUBLIC KEY" in text
    assert "PRIVATE" not in text
    assert text.count("!{ var(txn.inside) -m found }") == 2
    assert "txn.inside" not in wiring(["--plane", "haproxy", *AGENT])


@pytest.mark.parametrize("plane", ["nginx", "caddy", "traefik"])
def test_proxies_that_cannot_check_tickets_say_so(plane: str, key: str) -> None:
    with pytest.raises(Invalid, match=f"{plane} cannot check tickets"):
        wiring(["--plane", plane, "--queue", "seats", "--ticket-key", key])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--queue", "seats"], "go together"),
        (["--queue", "a b", "--ticket-key", "KEY"], "policy's name"),
        (["--queue", "seats", "--ticket-key", "/nowhere"], "cannot be read"),
    ],
)
def test_options_that_cannot_be_carried_out(options: list[str], words: str, key: str) -> None:
    given = [key if each == "KEY" else each for each in options]
    with pytest.raises(Invalid, match=words):
        wiring(["--plane", "envoy", *given])


def test_haproxy_needs_the_agents_own_proxy_which_has_no_usual_port() -> None:
    with pytest.raises(Invalid, match=r"own proxy: start .* give the same address"):
        wiring(["--plane", "haproxy"])


def test_traefik_passes_on_the_cookies_that_are_named() -> None:
    text = wiring(["--plane", "traefik", "--cookie", "signalbox_ticket_seats"])
    asks = yaml.safe_load(text)["http"]["middlewares"]["signalbox"]["forwardAuth"]
    assert asks["addAuthCookiesToResponse"] == ["signalbox_ticket_seats"]
    with pytest.raises(Invalid, match="--cookie is 'a b'"):
        wiring(["--plane", "traefik", "--cookie", "a b"])
