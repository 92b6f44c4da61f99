"""Sets of intents that can be undone as one."""

from dataclasses import replace

import pytest

from controlplane.domain.canonical import decode, encode
from controlplane.domain.errors import Invalid
from controlplane.domain.intents.intent import IntentKind, Target, Wanted
from controlplane.domain.operations.scenarios import Scenario, checked, dated

LEAVE = Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="east"))
FREEZE = Wanted(kind=IntentKind.FREEZE, reason="calm")
SCENARIO = Scenario(name="flood", title="East is flooded", orders=(LEAVE, FREEZE), lasts_s=600.0)


def test_orders_get_an_end_and_a_reason() -> None:
    leave, freeze = dated(checked(SCENARIO), "pumps failed", 100.0)
    assert (leave.expires_s, leave.reason) == (700.0, "pumps failed")
    assert freeze.reason == "calm"
    (without, _) = dated(replace(SCENARIO, lasts_s=None), "", 100.0)
    assert (without.expires_s, without.reason) == (None, "East is flooded")
    assert decode(Scenario, encode(SCENARIO)) == SCENARIO


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "its name must fit"),
        ({"orders": ()}, "it may have 1..50"),
        ({"lasts_s": 1.0}, "lasts_s"),
        ({"orders": (LEAVE, LEAVE)}, "twice"),
        ({"orders": (Wanted(kind=IntentKind.RESTORE),)}, "restore cannot be undone"),
    ],
)
def test_what_no_scenario_may_be(changes: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        checked(replace(SCENARIO, **changes))  # type: ignore[arg-type]
