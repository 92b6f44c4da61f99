"""The picture as findings."""

from dataclasses import replace

from controlplane.domain.findings import Severity
from controlplane.domain.health.budget import ProbePlan
from controlplane.domain.health.checks import Verdict
from controlplane.domain.health.judging import Evidence
from controlplane.domain.health.passive import Passive
from controlplane.domain.health.picture import Health, ObserverState
from controlplane.domain.health.quorum import Opinion
from controlplane.domain.health.words import observations, requests_fail_for_one, stretched
from controlplane.domain.services import AllDown, Service
from tests.domain.health.site import cluster, evidence, next_picture, saying, service

SHOP = service()


def codes(health: Health, now_s: float = 100.0) -> list[tuple[str, str]]:
    return [(one.code, one.subject) for one in observations(health, now_s)]


def seen(*unhealthy: int, declared: Service = SHOP) -> Health:
    return next_picture(declared, evidence({"own": saying(declared, unhealthy)}))


def test_all_well_says_nothing() -> None:
    assert codes(seen()) == []


def test_unhealthy_endpoints_of_a_cluster_are_one_finding() -> None:
    (found,) = observations(seen(11), 100.0)
    assert (found.code, found.severity) == ("endpoints_unhealthy", Severity.WARNING)
    assert found.subject == "service/shop datacenter/east"
    assert "1 of 2 endpoints fail their checks: 10.0.0.1:11: refused" in found.message
    many = service(clusters=(cluster("east", 8), cluster("west", 2)))
    health = next_picture(many, evidence({"own": saying(many, range(10, 17))}))
    (found,) = observations(health, 100.0)
    assert "10.0.0.1:14 and 2 more" in found.message


def test_a_named_cluster_is_named() -> None:
    declared = service(clusters=(cluster("east", 2, "blue"), cluster("west", 2)))
    assert codes(seen(15, declared=declared)) == [
        ("endpoints_unhealthy", "service/shop datacenter/east cluster/blue")
    ]


def test_a_dead_centre_is_one_finding_and_not_one_for_each_service() -> None:
    assert codes(seen(10, 11)) == [("datacenter_down", "datacenter/east")]


def test_a_service_that_is_down_in_a_centre_that_lives() -> None:
    health = seen(10, 11)
    east = replace(health.centers["east"], down=False)
    health = replace(health, centers={**health.centers, "east": east})
    assert codes(health) == [("service_down", "service/shop datacenter/east")]


def test_all_down_says_what_the_policy_does() -> None:
    for policy in AllDown:
        (found,) = observations(seen(10, 11, 20, 21, declared=service(policy)), 100.0)
        assert (found.code, found.subject) == ("all_down", "service/shop")
        assert found.held.startswith(f"all_down: {policy}")
        assert found.message.endswith(": refused")


def test_without_a_reason_none_is_told() -> None:
    opinions = dict.fromkeys(saying(SHOP), Opinion(verdict=Verdict.UNHEALTHY))
    (found,) = observations(next_picture(SHOP, evidence({"own": opinions})), 100.0)
    assert found.message.endswith("in any data centre")


def test_requests_that_fail_and_checks_that_flap() -> None:
    flapping = {key: replace(one, flapping=key.port == 20) for key, one in saying(SHOP).items()}
    facts: Evidence = evidence({"own": flapping}, failing=frozenset({("shop", "east", "")}))
    assert codes(next_picture(SHOP, facts)) == [
        ("datacenter_down", "datacenter/east"),
        ("requests_fail", "service/shop datacenter/east"),
        ("endpoints_flapping", "service/shop datacenter/west"),
    ]


def test_observers_that_cannot_be_believed_are_told_after_a_while() -> None:
    blind = saying(SHOP, (10, 11, 20, 21))
    facts = evidence({"a": blind, "b": saying(SHOP), "c": saying(SHOP)})
    health = next_picture(SHOP, facts)
    assert codes(health) == []
    assert codes(health, 103.0) == [("observer_blind", "observer/a")]


def test_a_lost_majority_is_an_alarm() -> None:
    health = next_picture(SHOP, evidence({"a": saying(SHOP, (10, 11, 20, 21)), "b": saying(SHOP)}))
    silent = tuple(replace(one, state=ObserverState.SILENT) for one in health.observers[:1])
    health = replace(health, observers=(*silent, *health.observers[1:]))
    assert codes(health) == []
    assert codes(health, 103.0) == [
        ("observers_lost", "observers"),
        ("observer_silent", "observer/a"),
    ]


def test_names_of_one_token_are_no_majority_that_was_lost() -> None:
    health = next_picture(SHOP, evidence({name: saying(SHOP) for name in "abcx"}))
    shared = [replace(one, token="t") for one in health.observers[:3]]
    silent = [replace(one, state=ObserverState.SILENT) for one in shared[:2]]
    (found,) = (
        one
        for one in observations(replace(health, observers=(*shared, health.observers[3])), 100.0)
        if one.code == "observers_share_token"
    )
    assert found.subject == "token/t"
    assert found.message.startswith("3 observers report with this token: a, b, c; ")
    # Held for a moment by the one that fell silent just now: what lasts is no majority.
    late = replace(health.observers[3], state=ObserverState.SILENT, since_s=102.0)
    health = replace(health, observers=(*silent, shared[2], late), held=True)
    assert "observers_lost" not in {one for one, _ in codes(health, 103.0)}
    assert "observers_lost" in {one for one, _ in codes(health, 105.0)}


def test_one_name_of_one_token_shares_it_with_nobody() -> None:
    health = next_picture(SHOP, evidence({"a": saying(SHOP)}))
    named = tuple(replace(one, token="t") for one in health.observers)
    assert codes(replace(health, observers=named)) == []


def test_what_a_single_reporter_sees_is_told() -> None:
    found = requests_fail_for_one(("shop", "east", "blue"), Passive(ratio=0.625, alone=True))
    assert found.subject == "service/shop datacenter/east cluster/blue"
    assert found.message.startswith("62% of the requests of a single reporter")


def test_longer_intervals_are_told() -> None:
    (found,) = stretched(ProbePlan(observers=3, stretch=2.5))
    assert "2.5 times those declared" in found.message
    assert list(stretched(ProbePlan(observers=1, stretch=1.0))) == []
