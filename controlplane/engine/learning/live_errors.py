"""Errors of the models in service over the last day, collected from their ledgers.

A ledger has an hour; slow drift takes longer to see. Read once a cycle by `retraining`,
kept in memory only: after a restart an hour is known and the rest is collected again.
"""

import math
from collections import deque
from collections.abc import Set
from dataclasses import dataclass, field

from controlplane.domain.guardrails.ledger import Ledger
from controlplane.domain.guardrails.skill import calm_error
from controlplane.domain.retraining import ERRORS_KEPT


@dataclass(slots=True)
class _Series:
    """Errors of one model since it was put in service, newest last.

    `until_s` is the end of the newest one's cycle.
    """

    model: str
    since_s: float
    until_s: float = -math.inf
    errors: deque[float] = field(default_factory=lambda: deque(maxlen=ERRORS_KEPT))


class LiveErrors:
    """A series for each service; it begins anew when a model is put in service."""

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}

    def keep(self, services: Set[str]) -> None:
        """Forget every other service."""
        for gone in self._series.keys() - services:
            del self._series[gone]

    def after(self, service: str, model: str, since_s: float, ledger: Ledger) -> tuple[float, ...]:
        """Errors up to what the ledger has now, newest last; infinite where no prediction came.

        Args:
            model: digest of the one in service; a ledger of another one adds nothing.
            since_s: when it was put in service, UTC epoch seconds.
        """
        series = self._series.get(service)
        if series is None or (series.model, series.since_s) != (model, since_s):
            series = self._series[service] = _Series(model=model, since_s=since_s)
        for pair in ledger.pairs if ledger.model == model else ():
            if pair.time_s > series.until_s:
                error = calm_error(pair)
                series.errors.append(math.inf if error is None else error)
                series.until_s = pair.time_s
        return tuple(series.errors)
