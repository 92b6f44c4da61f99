"""Which alerts a policy listens to, what it orders, and what no policy may be."""

from dataclasses import replace

import pytest

from controlplane.domain.canonical import decode, encode
from controlplane.domain.errors import Invalid
from controlplane.domain.intents.intent import IntentKind, Target, Wanted
from controlplane.domain.operations.alert_policies import (
    AlertPolicy,
    Comparison,
    Matcher,
    checked,
    order_for,
)
from controlplane.domain.operations.alerts import Alert, AlertStatus, Origin

POLICY = AlertPolicy(
    name="leave-center",
    matchers=(Matcher(label="alertname", value="CenterDown"),),
    order=Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="{datacenter}")),
)
ALERT = Alert(
    origin=Origin.ALERTMANAGER,
    status=AlertStatus.FIRING,
    labels={"alertname": "CenterDown", "datacenter": "east"},
    fingerprint="f1",
    starts_s=0.0,
)


@pytest.mark.parametrize(
    ("comparison", "value", "holds"),
    [
        (Comparison.IS, "east", True),
        (Comparison.IS, "west", False),
        (Comparison.IS_NOT, "west", True),
        (Comparison.IS_NOT, "east", False),
        (Comparison.FITS, "ea.*", True),
        (Comparison.FITS, "as", False),
        (Comparison.FITS_NOT, "as", True),
        (Comparison.FITS_NOT, "e.{3}", False),
    ],
)
def test_comparisons(comparison: Comparison, value: str, holds: bool) -> None:
    matcher = Matcher(label="datacenter", value=value, comparison=comparison)
    assert matcher.holds(ALERT.labels) is holds


def test_a_missing_label_is_empty() -> None:
    assert Matcher(label="team", value="").holds({})


def test_all_matchers_and_the_origin_count() -> None:
    assert POLICY.matches(ALERT)
    assert not POLICY.matches(replace(ALERT, origin=Origin.FINDINGS))
    other = Matcher(label="team", value="night")
    assert not replace(POLICY, matchers=(*POLICY.matchers, other)).matches(ALERT)


def test_the_target_takes_labels() -> None:
    assert order_for(POLICY, ALERT).target == Target(datacenter="east")


def test_a_missing_label_is_no_target() -> None:
    with pytest.raises(Invalid, match="has no label datacenter"):
        order_for(POLICY, replace(ALERT, labels={"alertname": "CenterDown"}))
    with pytest.raises(Invalid, match="alert f1 has no label"):
        order_for(POLICY, replace(ALERT, labels={}))


def test_a_policy_survives_the_store() -> None:
    assert decode(AlertPolicy, encode(checked(POLICY))) == POLICY


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "Upper"}, "its name must fit"),
        ({"matchers": ()}, "at least one matcher"),
        ({"matchers": POLICY.matchers * 21}, "more than 20"),
        ({"lasts_s": 59.0}, "lasts_s"),
        ({"most": 0}, "most must"),
        ({"per_s": 0.5}, "per_s"),
        ({"hold_s": -1.0}, "hold_s"),
        ({"matchers": (Matcher(label="a-b", value=""),)}, "no name of a label"),
        (
            {"matchers": (Matcher(label="a", value="(", comparison=Comparison.FITS),)},
            "no regular expression",
        ),
    ],
)
def test_what_no_policy_may_be(changes: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        checked(replace(POLICY, **changes))  # type: ignore[arg-type]


def test_a_machine_forces_nothing() -> None:
    forced = replace(POLICY, order=replace(POLICY.order, force=True))
    with pytest.raises(Invalid, match="must not force"):
        checked(forced)
