"""Who speaks as an observer, and who of them probes what."""

from dataclasses import replace

import pytest

from controlplane.domain.errors import Conflict
from controlplane.domain.health.budget import ProbeBudget
from controlplane.domain.health.picture import Health, ObserverHealth, ObserverState
from controlplane.domain.health.quorum import QuorumRules, Report
from controlplane.engine.health.observers import Observers
from tests.builders import fleet, service


def observers(per_endpoint: float, **tokens: str) -> Observers:
    """Observers by name with their tokens, and a fleet that is asked four times in a second."""
    found = Observers(None, QuorumRules(), ProbeBudget(per_endpoint=per_endpoint))
    for name, token in tokens.items():
        found.observe(Report(observer=name, heard_s=100.0, opinions={}, token=token))
    found.watch(fleet(service()))
    return found


def test_a_token_with_many_names_does_not_crowd_out_the_others() -> None:
    crowd = {f"rack_{number}": "loud" for number in range(40)}
    found = observers(12.0, **crowd, a="one", b="two")
    assert found.plan.observers == 3
    for name in ("a", "b"):
        assert found.targets(name).keys() == found.checks.keys()
    shared = [key for name in crowd for key in found.targets(name)]
    assert sorted(shared, key=str) == sorted(found.checks, key=str)


def test_while_there_is_room_everyone_probes_everything() -> None:
    found = observers(100.0, a="one", b="one", c="two")
    assert all(found.targets(name).keys() == found.checks.keys() for name in "abc")


def test_another_token_behind_a_name_is_another_plan() -> None:
    assert observers(12.0, a="one").shared_by != observers(12.0, a="two").shared_by


def test_a_restart_knows_whose_name_it_is() -> None:
    known = ObserverHealth(
        name="a", state=ObserverState.HEARD, heard_s=100.0, endpoints=0, token="one"
    )
    found = observers(12.0)
    found.restore(replace(Health(), observers=(known,)))
    assert found.reports(100.0)[0].token == "one"
    with pytest.raises(Conflict, match="another token reports as a"):
        found.admit("a", "two", 101.0)
    found.admit("a", "one", 101.0)
    found.admit("a", "two", 104.0)
