"""Units of real metrics, and what each is worth in ours.

A gauge has a value per time already; a counter or a count has amounts, which become values per
second by their time.
"""

from enum import StrEnum

from training import dataset_text
from training.site_dataset import SHARE


class Kind(StrEnum):
    """What a number is.

    gauge: the value of its period. counter: grows until it starts again from 0. count: what
    came in since the row before.
    """

    GAUGE = "gauge"
    COUNTER = "counter"
    COUNT = "count"


RATE, RESPONSE, BANDWIDTH = "request_rate_rps", "response_time_ms", "ingress_bandwidth_bps"
SHARES = (*dataset_text.SHARES, SHARE)
METRICS = (RATE, RESPONSE, BANDWIDTH, *SHARES)

_TIMES = {"ms": 1.0, "s": 1000.0, "us": 1e-3, "ns": 1e-6}
_RATIOS = {"ratio": 1.0, "percent": 0.01}
_RATES = {"per_s": 1.0, "per_min": 1 / 60, "per_h": 1 / 3600}
_BANDWIDTHS = {
    "bit_per_s": 1.0,
    "kbit_per_s": 1e3,
    "mbit_per_s": 1e6,
    "byte_per_s": 8.0,
    "kbyte_per_s": 8e3,
    "mbyte_per_s": 8e6,
}
_AMOUNTS = {
    RATE: {"requests": 1.0},
    BANDWIDTH: {"bits": 1.0, "bytes": 8.0},
}


def factors(metric: str, kind: Kind) -> dict[str, float]:
    """Unit -> factor to the metric's own unit, that first; {} when the metric has no such kind."""
    if kind is not Kind.GAUGE:
        return _AMOUNTS.get(metric, {})
    if metric in SHARES:
        return _RATIOS
    return {RATE: _RATES, RESPONSE: _TIMES, BANDWIDTH: _BANDWIDTHS}[metric]
