import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.features import (
    FEATURE_NAMES,
    METRICS,
    SCHEMA_DIGEST,
    CenterColumns,
    center_columns,
    design_matrix,
)
from tests.builders import sample


def columns(start: float) -> CenterColumns:
    return CenterColumns(**{name: start + index for index, name in enumerate(METRICS)})


def test_fourteen_inputs_primary_first() -> None:
    assert len(FEATURE_NAMES) == 14
    assert FEATURE_NAMES[6] == "primary.scheduling_ratio"
    assert FEATURE_NAMES[13] == "secondary.scheduling_ratio"
    assert hashlib.sha256("\n".join(FEATURE_NAMES).encode()).hexdigest() == SCHEMA_DIGEST


def test_the_order_of_the_columns() -> None:
    x = design_matrix(columns(0.0), columns(10.0), 0.4)
    np.testing.assert_array_equal(x, [[0, 1, 2, 3, 4, 5, 0.4, 10, 11, 12, 13, 14, 15, 0.6]])
    assert x.dtype == np.float64


def test_metrics_of_one_service_join_every_candidate() -> None:
    ratios = np.arange(20, 81) / 100
    x = design_matrix(columns(0.0), columns(10.0), ratios)
    assert x.shape == (61, 14)
    np.testing.assert_array_equal(x[:, 6], ratios)
    np.testing.assert_array_equal(x[:, 13], 1 - ratios)
    assert (x[:, 7] == 10).all()


@given(st.integers(1, 5), st.integers(1, 7))
def test_many_services_join_every_candidate(services: int, candidates: int) -> None:
    base = np.arange(services, dtype=np.float64)[:, None]
    primary = CenterColumns(**{name: base + i for i, name in enumerate(METRICS)})
    ratios = np.linspace(0.2, 0.8, candidates)
    x = design_matrix(primary, columns(0.0), ratios)
    assert x.shape == (services, candidates, 14)
    for index in range(services):
        alone = design_matrix(columns(float(index)), columns(0.0), ratios)
        np.testing.assert_array_equal(x[index], alone)


def test_rows_of_training_stay_rows() -> None:
    series = CenterColumns(**dict.fromkeys(METRICS, np.arange(5.0)))
    x = design_matrix(series, series, np.linspace(0.2, 0.6, 5))
    assert x.shape == (5, 14)
    np.testing.assert_array_equal(x[3], [3, 3, 3, 3, 3, 3, 0.5, 3, 3, 3, 3, 3, 3, 0.5])


def test_what_is_not_reported_is_missing_not_zero() -> None:
    found = center_columns(sample(), traffic_share=None)
    assert np.isnan([found.memory, found.disk, found.ingress_bandwidth_bps]).all()
    assert np.isnan(found.traffic_share)
    assert (found.cpu_avg, found.cpu_max) == (0.5, 0.6)
    assert center_columns(sample(memory=0.0), 0.25).memory == 0.0
    assert center_columns(sample(), 0.25).traffic_share == 0.25
