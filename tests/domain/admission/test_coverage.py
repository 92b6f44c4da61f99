from dataclasses import replace

import pytest

from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.coverage import asked_about, away_on, declares_away
from controlplane.domain.admission.policy import Attachment, Mode, Policy
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.routing.route import Route

EDGE = Policy(name="edge", protection=ProtectionPolicy())
STRICT = replace(EDGE, name="strict", when_away=WhenAway.REFUSE)
MILD = replace(EDGE, name="mild", when_away=WhenAway.ADMIT)
PAY = Route(id="pay", service="shop")


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([], None),
        ([EDGE], None),
        ([MILD], WhenAway.ADMIT),
        ([STRICT], WhenAway.REFUSE),
        ([MILD, STRICT], WhenAway.REFUSE),
        ([EDGE, STRICT], WhenAway.REFUSE),
        # One that says nothing goes by its gateway group, which may refuse.
        ([EDGE, MILD], None),
        ([replace(STRICT, mode=Mode.OBSERVE), MILD], WhenAway.ADMIT),
        ([replace(STRICT, attachment=Attachment(routes=("other",))), MILD], WhenAway.ADMIT),
        ([replace(STRICT, attachment=Attachment(services=("other",)))], None),
    ],
)
def test_one_that_refuses_is_enough_and_all_must_admit(
    policies: list[Policy], expected: WhenAway | None
) -> None:
    assert away_on(policies, PAY) is expected


def test_only_what_is_in_force_declares_it() -> None:
    assert declares_away([EDGE, MILD])
    assert not declares_away([EDGE, replace(STRICT, mode=Mode.OFF)])


def test_what_is_off_is_not_asked() -> None:
    assert asked_about(replace(EDGE, mode=Mode.OBSERVE), PAY)
    assert not asked_about(replace(EDGE, mode=Mode.OFF), PAY)
