"""The queue law: one reading and many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.strategies.queue_law import (
    CenterLaw,
    busy_part,
    response_time_at_cpu_ms,
    response_time_ms,
    utilization,
)

parts = st.floats(0.0, 1.0)


@given(cpu=parts, idle=parts, full=parts, saturation=st.floats(0.01, 1.0))
def test_one_reading_is_as_busy_as_among_many(
    cpu: float, idle: float, full: float, saturation: float
) -> None:
    law = CenterLaw(
        base_ms=1.0,
        contention=0.0,
        wait_ms=0.0,
        servers=1.0,
        saturation=saturation,
        idle_cpu=idle,
        full_cpu=full,
    )
    many = utilization(law, np.array([cpu, 0.5]))
    assert busy_part(law, cpu) == many[0]


@given(cpu=parts, servers=st.floats(1.0, 64.0), saturation=st.floats(0.2, 1.0))
def test_one_reading_takes_as_long_as_among_many(
    cpu: float, servers: float, saturation: float
) -> None:
    law = CenterLaw(
        base_ms=40.0,
        contention=0.3,
        wait_ms=9.0,
        servers=servers,
        saturation=saturation,
        idle_cpu=0.05,
        full_cpu=0.97,
    )
    many = response_time_ms(law, utilization(law, np.array([cpu, 0.5])))
    assert response_time_at_cpu_ms(law, cpu) == pytest.approx(many[0], rel=1e-12)
