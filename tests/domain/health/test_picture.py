"""What can be read from a picture."""

from dataclasses import replace

from controlplane.domain.health.picture import (
    ClusterHealth,
    EndpointHealth,
    EndpointKey,
    Health,
    Place,
    ServiceHealth,
)
from controlplane.domain.health.states import EndpointState
from controlplane.domain.services import AllDown


def key(port: int, address: str = "127.0.0.1") -> EndpointKey:
    return EndpointKey(service="shop", datacenter="east", cluster="", address=address, port=port)


def cluster(*usable: bool) -> ClusterHealth:
    states = {True: EndpointState.HEALTHY, False: EndpointState.UNHEALTHY}
    return ClusterHealth(
        datacenter="east",
        cluster="",
        endpoints=tuple(
            EndpointHealth(key=key(port), state=states[one], usable=one, since_s=0.0)
            for port, one in enumerate(usable, 1)
        ),
    )


def picture(*, down: bool, usable: tuple[bool, ...]) -> Health:
    place = Place(
        datacenter="east",
        clusters=(cluster(*usable),),
        usable_share=sum(usable) / len(usable),
        down=down,
        since_s=0.0,
    )
    known = ServiceHealth(service="shop", places=(place,), policy=AllDown.HOLD)
    return Health(services={"shop": known})


def test_an_endpoint_is_named_as_in_a_url() -> None:
    assert key(80).name == "127.0.0.1:80"
    assert key(80, "::1").name == "[::1]:80"


def test_a_cluster_says_how_much_of_it_is_usable() -> None:
    assert cluster(True, False, False, True).usable_share == 0.5
    assert cluster().usable_share == 0.0


def test_what_is_not_known_is_not_down() -> None:
    found = picture(down=True, usable=(False,))
    assert found.down("shop", "east")
    assert not found.down("shop", "west")
    assert not found.down("other", "east")
    assert not picture(down=False, usable=(True,)).down("shop", "east")


def test_endpoints_that_should_get_nothing_are_named() -> None:
    assert picture(down=False, usable=(True, False)).unusable("shop") == {key(2)}
    assert picture(down=False, usable=(True,)).unusable("other") == frozenset()


def test_who_is_out_is_known_by_service() -> None:
    assert picture(down=False, usable=(True, False)).out() == {"shop": {key(2)}}
    assert picture(down=False, usable=(True,)).out() == {}
    # Nobody has seen one of it well, so nobody knows better.
    assert picture(down=False, usable=(False,)).out() == {}
    known = picture(down=False, usable=(False,)).services["shop"]
    closed = replace(known, all_down=True, policy=AllDown.CLOSED)
    assert Health(services={"shop": closed}).out() == {"shop": {key(1)}}
