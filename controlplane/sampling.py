"""Joins what brings samples in: the client of metric sources, the rounds of questions, the doubts.

Called by `wiring`. Decides nothing: limits come from the settings, scaled as all times are.
"""

import os

from controlplane.adapters.prometheus import Credential, Prometheus, PrometheusOptions
from controlplane.domain.suspicion.limits import scaled as scaled_suspicion
from controlplane.engine.cadence import scaled as scaled_cadence
from controlplane.engine.reconciling.loop import LoopParts
from controlplane.engine.samples.pull import Puller, PullParts, PullTimes
from controlplane.engine.samples.suspicion import SuspicionRules
from controlplane.engine.stages import Instruments
from controlplane.settings import Settings


def prometheus_client(settings: Settings) -> Prometheus:
    """The client of every metric source; tokens of the environment are read once, here."""
    credentials = {
        name: Credential(
            origin=one.origin,
            token=os.environ.get(one.token_env, ""),
            token_file=one.token_file,
        )
        for name, one in settings.source_credentials.items()
    }
    return Prometheus(
        PrometheusOptions(
            timeout_s=settings.source_timeout_s,
            most_bytes=settings.source_most_bytes,
            most_series=settings.source_most_series,
            credentials=credentials,
        )
    )


def puller(
    settings: Settings, prometheus: Prometheus, parts: LoopParts, instruments: Instruments
) -> Puller:
    """One round of questions to each declared source and period."""
    period_s = scaled_cadence(settings.cadence, settings.time_scale).period_s
    return Puller(
        PullParts(source=prometheus, fleets=parts.fleets, intake=parts.intake),
        PullTimes(period_s=period_s, timeout_s=settings.source_timeout_s),
        instruments,
    )


def suspicion_rules(settings: Settings) -> SuspicionRules:
    """What is not taken for true."""
    scale = settings.time_scale
    return SuspicionRules(
        limits=scaled_suspicion(settings.suspicion, scale),
        cadence=scaled_cadence(settings.cadence, scale),
        fresh_s=settings.envelope.fresh_s * scale,
    )
