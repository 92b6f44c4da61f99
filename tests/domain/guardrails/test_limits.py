import pytest

from controlplane.domain.guardrails.limits import scaled
from tests.domain.guardrails.drafting import LIMITS


def test_time_constants_scale_together() -> None:
    demo = scaled(LIMITS, 1 / 60)
    assert demo.fresh_s == pytest.approx(2.0)
    assert demo.ramp_after_s == pytest.approx(10.0)
    assert demo.cooldown_s == demo.revert_watch_s == pytest.approx(30.0)
    assert demo.changes_window_s == pytest.approx(60.0)
    assert demo.step == LIMITS.step
