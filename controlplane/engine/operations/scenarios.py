"""Scenarios applied and undone as one: all of their intents, or none.

Called by the API. What has been applied is a run; its intents are ordinary ones. A process that
dies half way leaves a part of them, which is told until somebody has undone it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.access import AuditEntry, Principal
from controlplane.domain.errors import Conflict, ControlPlaneError
from controlplane.domain.findings import Observation, Severity, Source
from controlplane.domain.intents.intent import Wanted
from controlplane.domain.operations.scenarios import Scenario, ScenarioRun, dated
from controlplane.engine.intents.intents import Ask
from controlplane.engine.operations.intent_desk import Forecasted, IntentDesk
from controlplane.engine.operations.items import Items
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import AuditLog

log = structlog.get_logger(__name__)

# Runs that can still be read; older ones go when new ones come.
RUNS_KEPT = 200
SCOPE = "scenarios"
LOOK_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioParts:
    """What scenarios read and write."""

    scenarios: Items[Scenario]
    runs: Items[ScenarioRun]
    intents: IntentDesk
    audit: AuditLog


class Scenarios:
    """Applies and undoes."""

    def __init__(self, parts: ScenarioParts, instruments: Instruments) -> None:
        self._parts = parts
        self._now = instruments.now
        self._findings = instruments.findings
        self._acting = asyncio.Lock()

    @property
    def items(self) -> Items[Scenario]:
        """The prepared ones."""
        return self._parts.scenarios

    @property
    def runs(self) -> list[ScenarioRun]:
        """What was applied, the latest first."""
        return sorted(self._parts.runs.all.values(), key=lambda one: -one.applied_s)

    def standing(self, run: ScenarioRun) -> list[str]:
        """Its intents that are still over what is published, in the order they were made."""
        known = self._parts.intents.known.values()
        # By their cause: an intent counts also when the process died before it was noted.
        made = (one for one in known if one.cause == cause_of(run) and one.standing)
        return [one.id for one in sorted(made, key=lambda one: one.number)]

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Say which runs a process has left half done."""
        if self._acting.locked():
            return
        # What was made is noted as the last step.
        cut = (run for run in self.runs if not run.intents and run.undone_s is None)
        parts = ((run, self.standing(run)) for run in cut)
        found = [_cut_off(run, standing) for run, standing in parts if standing]
        self._findings.report(Source.INTENTS, found, scope=SCOPE)

    async def forecast(self, name: str, author: Principal) -> list[tuple[Wanted, Forecasted]]:
        """What each of its intents would do, those before it being done; NotFound."""
        orders = dated(self._parts.scenarios.named(name), "", self._now())
        found = []
        for place, order in enumerate(orders):
            ask = Ask(wanted=order, author=author.name)
            found.append((order, await self._parts.intents.forecast(ask, orders[:place])))
        return found

    async def apply(self, name: str, author: Principal, reason: str) -> ScenarioRun:
        """Make all intents of a scenario, or none: what one refuses undoes those before.

        Raises:
            NotFound: there is no such scenario. Conflict: it is applied already.
            ControlPlaneError: what the first refused order says.
        """
        scenario = self._parts.scenarios.named(name)
        async with self._acting:
            self._check_free(name)
            now_s = self._now()
            run = ScenarioRun(
                name=f"{name}-{round(now_s * 1000)}",
                scenario=name,
                author=author.name,
                reason=reason,
                applied_s=now_s,
            )
            await self._told(run, "apply", author, reason, f"{len(scenario.orders)} orders")
            await self._parts.runs.keep(run)
            run = await self._ordered(run, scenario, author)
            await self._trim()
        log.info("scenario.applied", run=run.name, intents=len(run.intents))
        return run

    async def undo(self, name: str, author: Principal, reason: str) -> ScenarioRun:
        """Take back the intents of a run that still stand, the newest first.

        Raises:
            NotFound: there is no such run. Conflict: it was undone already.
        """
        async with self._acting:
            run = self._parts.runs.named(name)
            if run.undone_s is not None:
                raise Conflict("scenario_undone", f"run {name} was undone already")
            undone = self.standing(run)
            await undo_all(self._parts.intents, reversed_of(undone), author.name, reason)
            run = replace(run, undone_s=self._now())
            await self._told(run, "undo", author, reason, ", ".join(undone))
            return await self._parts.runs.keep(run)

    async def _ordered(
        self, run: ScenarioRun, scenario: Scenario, author: Principal
    ) -> ScenarioRun:
        made: list[str] = []
        try:
            for order in dated(scenario, run.reason, run.applied_s):
                ask = Ask(wanted=order, author=author.name, cause=cause_of(run))
                intent = await self._parts.intents.order(ask)
                made.append(intent.id)
        except ControlPlaneError:
            words = f"scenario {scenario.name} could not be applied as a whole"
            await undo_all(self._parts.intents, reversed_of(made), author.name, words)
            await self._parts.runs.forget(run.name)
            raise
        return await self._parts.runs.keep(replace(run, intents=tuple(made)))

    def _check_free(self, name: str) -> None:
        for run in self._parts.runs.all.values():
            if run.scenario == name and run.undone_s is None and self.standing(run):
                raise Conflict(
                    "scenario_applied",
                    f"scenario {name} is applied already, as {run.name}: undo that first",
                    {"run": run.name},
                )

    async def _told(
        self, run: ScenarioRun, verb: str, author: Principal, reason: str, after: str
    ) -> None:
        await self._parts.audit.append(
            AuditEntry(
                time_s=self._now(),
                author=author.name,
                action=f"scenario.{verb}",
                subject=f"scenario/{run.scenario}",
                reason=reason,
                after=f"{run.name}: {after}",
            )
        )

    async def _trim(self) -> None:
        for old in self.runs[RUNS_KEPT:]:
            await self._parts.runs.forget(old.name)


def cause_of(run: ScenarioRun) -> str:
    """What its intents name as their cause."""
    return f"scenario/{run.name}"


def reversed_of(ids: Sequence[str]) -> list[str]:
    """The newest first."""
    return list(reversed(ids))


def _cut_off(run: ScenarioRun, standing: Sequence[str]) -> Observation:
    return Observation(
        code="scenario_cut_off",
        subject=f"scenario/{run.scenario}",
        message=f"{run.name} was cut off while it was applied, only {', '.join(standing)} of it "
        f"stands: signalbox scenarios undo {run.name}, then apply it again if it is needed",
        severity=Severity.CRITICAL,
    )


async def undo_all(intents: IntentDesk, ids: Sequence[str], author: str, reason: str) -> None:
    """Take back each that stands; one that somebody else takes back meanwhile is as good.

    Raises:
        Retryable: the store is away; those before are taken back.
    """
    for intent_id in ids:
        intent = intents.known.get(intent_id)
        if intent is None or not intent.standing or intent.ending is not None:
            continue
        try:
            await intents.undo(intent_id, author, reason)
        except Conflict as error:
            log.info("intents.not_undone", intent=intent_id, reason=error.message)
