"""Choices of one service: shares, changes, stickiness, and who is avoided."""

from collections import Counter
from dataclasses import replace

import pytest

from controlplane.domain.errors import NotFound
from controlplane.domain.health.ejection import Event, Limits, State
from controlplane.domain.services import LoadBalancing, Service
from gateway.application.rotation import Rotation, Wish
from tests.gateway.fleet import configured, fleet, service


def rotation(declared: Service | None = None, seed: int = 1) -> Rotation:
    made = configured(fleet(declared or service()))
    return Rotation(made.services["gates"], made.weights["gates"], Limits(), seed)


def clusters(one: Rotation, times: int, wish: Wish = Wish()) -> Counter[str]:  # noqa: B008
    return Counter(one.pick(wish).cluster for _ in range(times))


def eject(one: Rotation, *ports: int) -> None:
    for port in ports:
        for _ in range(3):
            one.tell(f"127.0.0.1:{port}", Event.FAILED, 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_shares_are_exact_over_a_round(seed: int) -> None:
    one = rotation(seed=seed)
    assert clusters(one, 500) == {"main": 300, "side": 100, "": 100}
    names = Counter(one.pick(Wish()).name for _ in range(500))
    assert {names[f"127.0.0.1:{port}"] for port in (1, 2, 3)} == {100}


def test_a_dead_cluster_leaves_its_part_to_the_standby_and_gets_it_back() -> None:
    one = rotation()
    eject(one, 1, 2, 3)
    assert clusters(one, 500) == {"spare": 300, "side": 100, "": 100}
    assert one.out == {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
    for port in (1, 2, 3):
        for _ in range(2):
            one.tell(f"127.0.0.1:{port}", Event.PROBE_PASSED, 60.0)
    assert one.out == frozenset()
    assert clusters(one, 500) == pytest.approx({"main": 300, "side": 100, "": 100}, abs=3)


def test_a_failure_makes_neighbours_suspects_and_nobody_else() -> None:
    one = rotation()
    assert one.tell("127.0.0.1:1", Event.FAILED, 0.0) is State.SUSPECT
    assert set(one.doubtful) == {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
    assert one.tell("127.0.0.1:99", Event.FAILED, 0.0) is None
    for _ in range(2):
        for name in one.doubtful:
            one.tell(name, Event.PROBE_PASSED, 0.0)
    assert one.doubtful == ()


def test_changes_keep_what_is_known_of_those_who_stay() -> None:
    one = rotation()
    eject(one, 1, 2)
    made = configured(
        fleet(service({"main": (1, 3, 11), "side": (4, 5), "spare": (6, 7), "": (8, 9)})), 0.5
    )
    one.update(made.services["gates"], made.weights["gates"])
    assert one.out == {"127.0.0.1:1"}
    assert "127.0.0.1:1" not in {one.pick(Wish()).name for _ in range(100)}
    assert clusters(one, 400)[""] == pytest.approx(200, abs=2)


def test_who_failed_is_avoided_and_then_its_cluster() -> None:
    one = rotation()
    first, second = one.instances["127.0.0.1:1"], one.instances["127.0.0.1:2"]
    again = {one.pick(Wish(tried=(first,))).name for _ in range(200)}
    assert "127.0.0.1:1" not in again
    assert "127.0.0.1:2" in again
    assert "main" not in clusters(one, 200, Wish(tried=(first, second)))
    everybody = tuple(one.instances.values())
    assert one.pick(Wish(tried=everybody)).cluster in ("main", "side", "")


def test_the_last_instance_is_not_avoided_with_its_cluster() -> None:
    lone = {"main": (1, 2, 3), "side": (), "spare": (), "": ()}
    one = rotation(service(lone))
    tried = (one.instances["127.0.0.1:1"], one.instances["127.0.0.1:2"])
    assert one.pick(Wish(tried=tried)).name == "127.0.0.1:3"


@pytest.mark.parametrize("balancing", [LoadBalancing.MAGLEV, LoadBalancing.BOUNDED_HASH])
def test_a_user_stays_where_he_is_unless_that_is_gone(balancing: LoadBalancing) -> None:
    one = rotation(service(balancing=balancing))
    users = [Wish(key=f"user-{number}") for number in range(300)]
    before = {user.key: one.pick(user) for user in users}
    assert {user.key: one.pick(user) for user in users} == before
    shares = Counter(instance.cluster for instance in before.values())
    assert shares["main"] / 300 == pytest.approx(0.6, abs=0.08)
    eject(one, 8)
    after = {user.key: one.pick(user) for user in users}
    moved = [key for key in before if before[key] != after[key]]
    # Its own, and a few that leave the data centre because it is weaker.
    gone = [key for key in before if before[key].port == 8]
    assert set(gone) <= set(moved)
    assert len(moved) - len(gone) < 30
    # Without a user nobody is preferred.
    assert clusters(one, 300)["main"] > 150


def test_bounded_hashing_spreads_one_busy_user() -> None:
    one = rotation(service(balancing=LoadBalancing.BOUNDED_HASH))
    busy = Wish(key="crawler")
    for _ in range(60):
        one.begin(one.pick(busy).name)
    assert len({one.pick(busy).name}) == 1
    assert max(one._loads.values()) < 60


def test_least_connections_goes_where_little_is_in_work() -> None:
    one = rotation(service(balancing=LoadBalancing.LEAST_CONNECTIONS))
    for _ in range(50):
        one.begin("127.0.0.1:1")
    names = Counter(one.pick(Wish()).name for _ in range(500))
    assert names["127.0.0.1:1"] < 60
    for _ in range(50):
        one.end("127.0.0.1:1")
    assert one._loads == {}


def test_versions_have_their_own_instances() -> None:
    one = rotation()
    assert clusters(one, 50, Wish(version="v2")) == {"side": 50}
    with pytest.raises(NotFound, match="of version v3"):
        one.pick(Wish(version="v3"))
    empty = replace(one.service, centers=())
    one.update(empty, {})
    with pytest.raises(NotFound, match="declare one"):
        one.pick(Wish())
