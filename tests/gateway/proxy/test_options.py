"""What a reverse proxy can be told."""

import pytest

from controlplane.domain.errors import Invalid
from gateway.proxy.options import LIMITS, ProxyOptions


@pytest.mark.parametrize(("name", "low", "high"), LIMITS)
def test_numbers_outside_their_range_are_refused(name: str, low: float, high: float) -> None:
    for value in (low - 1, high + 1):
        with pytest.raises(Invalid, match=name):
            ProxyOptions(**{name: value})  # type: ignore[arg-type]


def test_trusted_must_be_networks() -> None:
    ProxyOptions(trusted=("10.0.0.0/8", "::1/128"))
    with pytest.raises(Invalid, match="trusted"):
        ProxyOptions(trusted=("10.0.0.1/8",))
