"""The queue law: utilisation of one reading and of many."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.strategies.queue_law import CenterLaw, busy_part, utilization

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
