from controlplane.domain.admission.agent_door import AgentDoor, WhenAway, unasked
from controlplane.domain.admission.envoy_asks import (
    ASKS_AND,
    agent_cluster,
    asking_filter,
    asking_filters,
)


def test_what_becomes_of_requests_without_an_agent_is_said_to_envoy() -> None:
    for when_away, admits in ((WhenAway.ADMIT, True), (WhenAway.REFUSE, False)):
        door = AgentDoor(when_away=when_away)
        assert door.admits is admits
        assert asking_filter(door, "agent")["typed_config"]["failure_mode_allow"] is admits


def test_the_service_gets_what_policies_say_and_nothing_else_of_the_agent() -> None:
    config = asking_filter(AgentDoor(headers=("X-Risk-Level",)), "agent")["typed_config"]
    answer = config["http_service"]["authorization_response"]
    names = answer["allowed_upstream_headers"]["patterns"]
    assert names == [{"prefix": "x-admission-"}, {"exact": "x-risk-level"}]
    assert config["http_service"]["server_uri"]["cluster"] == "agent"
    assert config["http_service"]["server_uri"]["timeout"] == "0.020s"


def test_answers_of_the_agent_are_no_failures_of_it() -> None:
    cluster = agent_cluster(AgentDoor(address="::1", port=7), "agent")
    detection = cluster["outlier_detection"]
    assert detection["enforcing_consecutive_5xx"] == 0
    assert detection["enforcing_consecutive_gateway_failure"] == 0
    assert detection["consecutive_local_origin_failure"] == 3
    (place,) = cluster["load_assignment"]["endpoints"]
    (endpoint,) = place["lb_endpoints"]
    address = endpoint["endpoint"]["address"]["socket_address"]
    assert address == {"address": "::1", "port_value": 7}


def test_a_plane_that_is_not_told_to_ask_is_a_finding() -> None:
    assert unasked("edge", None, "nginx") == ()
    (found,) = unasked("edge", AgentDoor(), "nginx")
    assert (found.code, found.subject) == ("agent_not_asked", "gateway/edge")
    assert "nginx" in found.message


def test_routes_with_a_word_of_their_own_have_filters_that_are_switched_off() -> None:
    usual, *others = asking_filters(AgentDoor(when_away=WhenAway.ADMIT), "agent")
    assert usual == asking_filter(AgentDoor(when_away=WhenAway.ADMIT), "agent")
    assert {one["name"] for one in others} == set(ASKS_AND.values())
    assert all(one["disabled"] for one in others)
    allowed = {one["name"]: one["typed_config"]["failure_mode_allow"] for one in others}
    assert allowed == {name: each is WhenAway.ADMIT for each, name in ASKS_AND.items()}
