"""Pulling: each period every declared metric source is asked for all services at once.

Samples go through the intake like those that are sent. What is wrong with a source, a query or a
series is a finding at the source, reported anew with every round, so it clears by itself. A source
that is slow, away or empty changes nothing: the windows keep what they have, and age.

One task from `serving` starts the rounds; a slow source holds up no other.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import structlog

from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.findings import Observation, Severity, Source
from controlplane.domain.pulling.asked import HELD, Asked, Pulled
from controlplane.domain.pulling.joining import joined
from controlplane.domain.sources import Answer, DeclaredSource, Failure, Pair
from controlplane.domain.telemetry import Sample
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.samples.intake import Intake
from controlplane.engine.samples.receipts import Receipt
from controlplane.engine.stages import Instruments
from controlplane.ports.outside import MetricSource

log = structlog.get_logger(__name__)

# A change of the fleet is seen after this at the latest.
LOOK_EVERY_S = 1.0
# Whom a source told about within this time, and no longer does, is missed.
MISSED_FOR_S = 86_400.0


class PullOutcome(StrEnum):
    """How the last round ended; `waiting` before the first."""

    WAITING = "waiting"
    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullTimes:
    """In seconds, > 0.

    Attributes:
        period_s: between two rounds of a source that declares no period.
        timeout_s: for one whole answer; never longer than the source's period.
    """

    period_s: float
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PullParts:
    """Whom to ask, and where the samples go."""

    source: MetricSource
    fleets: Fleets
    intake: Intake


@dataclass(slots=True)
class Pull:
    """One declared source since it was declared in this form.

    Attributes:
        samples: taken in the last round; `taken` since the start.
        asked_s, answered_s: the last round, and the last one that gave a sample; None before.
        told: whom it told about, and when last.
        period: number of the newest period that it was asked for.
    """

    declared: DeclaredSource
    period_s: float
    since_s: float
    outcome: PullOutcome = PullOutcome.WAITING
    samples: int = 0
    asked_s: float | None = None
    answered_s: float | None = None
    taken: int = 0
    seconds: float = 0.0
    rounds: Counter[PullOutcome] = field(default_factory=Counter)
    told: dict[Pair, float] = field(default_factory=dict)
    running: bool = False
    period: int | None = None


class Puller:
    """Keeps every declared source asked."""

    def __init__(self, parts: PullParts, times: PullTimes, instruments: Instruments) -> None:
        self._parts = parts
        self._times = times
        self._now = instruments.now
        self._findings = instruments.findings
        self._pulls: dict[str, Pull] = {}

    @property
    def kind(self) -> str:
        """What kind of metrics system is asked."""
        return self._parts.source.name

    @property
    def pulls(self) -> Mapping[str, Pull]:
        """Name -> how it stands, for every declared source."""
        self._align()
        return self._pulls

    async def run(self) -> None:
        """Start the rounds that are due, until cancelled."""
        for pull in self._pulls.values():
            pull.running = False
        async with asyncio.TaskGroup() as tasks:
            while True:
                for pull, time_s in self._due():
                    pull.running = True
                    tasks.create_task(self._keep(pull, time_s))
                await asyncio.sleep(self._pause_s())

    async def round(self, pull: Pull, time_s: float) -> None:
        """Ask all questions of one source for `time_s`, and take what is good."""
        started_s = asyncio.get_running_loop().time()
        asked = Asked(
            source=pull.declared, time_s=time_s, period_s=pull.period_s, expected=pull.told
        )
        answers, failures = await self._ask(asked)
        fleet = self._parts.fleets.current.fleet
        # Thousands of series take longer than the loop may be held up.
        pulled = await asyncio.to_thread(joined, asked, answers, failures, fleet)
        receipt = await self._parts.intake.accept(pulled.samples)
        pull.seconds += asyncio.get_running_loop().time() - started_s
        self._settle(pull, asked, pulled, receipt)

    def _align(self) -> None:
        """Follow the fleet: a source that is gone, or declared anew, begins anew."""
        declared = {one.name: one for one in self._parts.fleets.current.fleet.metric_sources}
        for name in [name for name in self._pulls if name not in declared]:
            del self._pulls[name]
            self._findings.report(Source.METRIC_SOURCE, (), scope=name)
        for name, source in declared.items():
            known = self._pulls.get(name)
            if known is None or known.declared != source:
                period_s = source.period_s or self._times.period_s
                self._pulls[name] = Pull(declared=source, period_s=period_s, since_s=self._now())

    def _due(self) -> Iterable[tuple[Pull, float]]:
        """Sources to be asked, for the end of the period that was over last."""
        now_s = self._now()
        for pull in list(self.pulls.values()):
            period = int(now_s // pull.period_s)
            # Another one, not a later one: a clock that is set back must not silence a source.
            if not pull.running and period != pull.period:
                pull.period = period
                yield pull, period * pull.period_s

    def _pause_s(self) -> float:
        now_s = self._now()
        waiting = [pull.period_s - now_s % pull.period_s for pull in self._pulls.values()]
        return min(LOOK_EVERY_S, max(0.01, min(waiting, default=LOOK_EVERY_S)))

    async def _keep(self, pull: Pull, time_s: float) -> None:
        """One round; whatever fails in it is a finding at this source alone."""
        try:
            await self.round(pull, time_s)
        except Exception as error:
            log.exception("source.failed", source=pull.declared.name)
            self._close(pull, [_unexpected(pull.declared, error)], taken=0)
        finally:
            pull.running = False

    async def _ask(self, asked: Asked) -> tuple[list[Answer], list[Failure]]:
        readings = [reading for reading, _ in asked.source.queries]
        got = await asyncio.gather(*(self._ask_one(asked, reading) for reading in readings))
        answers = [one for one in got if isinstance(one, Answer)]
        return answers, [one for one in got if isinstance(one, Failure)]

    async def _ask_one(self, asked: Asked, reading: str) -> Answer | Failure:
        limit_s = min(self._times.timeout_s, asked.period_s)
        try:
            async with asyncio.timeout(limit_s):
                return await self._parts.source.read(asked.source, reading, asked.time_s)
        except TimeoutError:
            words = f"no whole answer within {limit_s:g} s"
            return Failure(reading=reading, code="source_timeout", message=words)
        except ControlPlaneError as error:
            return Failure(reading=reading, code=error.code, message=error.message)

    def _settle(self, pull: Pull, asked: Asked, pulled: Pulled, receipt: Receipt) -> None:
        refused = {finding.index for finding in receipt.findings}
        good = [one for at, one in enumerate(pulled.samples) if at not in refused]
        now_s = self._now()
        told = pull.told | {(one.service, one.datacenter): now_s for one in good}
        pull.told = {pair: at_s for pair, at_s in told.items() if now_s - at_s < MISSED_FOR_S}
        observations = [*pulled.observations, *_refused(asked, pulled.samples, receipt)]
        self._close(pull, observations, taken=len(good))

    def _close(self, pull: Pull, observations: Sequence[Observation], taken: int) -> None:
        """The round is over: remember and report it."""
        now_s = self._now()
        before, pull.outcome = pull.outcome, _outcome(observations, taken)
        pull.asked_s, pull.samples = now_s, taken
        pull.answered_s = now_s if taken else pull.answered_s
        pull.taken += taken
        pull.rounds[pull.outcome] += 1
        name = pull.declared.name
        if self.pulls.get(name) is not pull:
            return
        self._findings.report(Source.METRIC_SOURCE, observations, scope=name)
        if pull.outcome is not before:
            log.info("source.asked", source=name, outcome=pull.outcome, samples=taken)


def silent_s(pull: Pull, now_s: float) -> float:
    """Seconds since a source last gave a sample, or since it was declared."""
    return max(0.0, now_s - (pull.since_s if pull.answered_s is None else pull.answered_s))


def _outcome(observations: Iterable[Observation], taken: int) -> PullOutcome:
    if not taken:
        return PullOutcome.FAILED
    worse = any(one.severity is not Severity.INFO for one in observations)
    return PullOutcome.PARTIAL if worse else PullOutcome.OK


def _refused(asked: Asked, samples: Sequence[Sample], receipt: Receipt) -> Iterable[Observation]:
    """What the intake did not take; one finding for each pair."""
    for finding in receipt.findings:
        sample = samples[finding.index]
        yield Observation(
            code="source_sample_refused",
            subject=asked.subject(finding.field, (sample.service, sample.datacenter)),
            message=f"{finding.code}: {finding.message}",
            held=HELD,
        )


def _unexpected(source: DeclaredSource, error: Exception) -> Observation:
    return Observation(
        code="source_failed",
        subject=f"source/{source.name}",
        message=f"{type(error).__name__}: {error}; the log has the traceback",
        held=HELD,
        severity=Severity.CRITICAL,
    )
