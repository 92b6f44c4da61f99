"""A service learns, loses a data centre, its world drifts, its models go bad: played for real.

`play` runs the whole story in scaled time and returns its figures; the acceptance test plays a
short one, `make soak` two weeks.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from tests.soak import bad_models
from tests.soak.outages import Outages
from tests.soak.places import Fault, places
from tests.soak.player import NAMES, SERVICE, Player, fleet, slower
from tests.soak.server import Server, serving
from training.simulation import weather, world

CYCLE_MINUTES = 5
# Cycles from promotion to demotion as docs/adr/0010 states them, and two for looking at it.
DEMOTED_WITHIN = {"constant": 15, "inverted": 17, "not_a_number": 15}
# Asked for often and few at a time: two hundred take the program a noticeable part of a cycle here.
MOST_DECISIONS = 30
# Weather for runs that have to wait for a busy machine.
SPARE = 5_000
LOW, HIGH, HOT_STEP = 0.20, 0.80, 0.15
ROUNDING = 2e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Times in simulated minutes.

    Attributes:
        scale: real seconds of a simulated second.
        first_minute: of the simulated day at which the run begins.
        end: the run lasts at least so long.
        retraining: settings that differ from the defaults.
        second_by: until then the calendar must have trained twice.
        drift_at: not before this the primary gets slower, once the calendar has trained twice.
        early_within: so long after the drift a training of its own accord must begin.
        bad_at: not before these the bad models are promoted, one after the other.
    """

    scale: float
    end: int
    retraining: dict[str, float]
    second_by: int
    drift_at: int
    early_within: int
    bad_at: tuple[int, int, int]
    first_minute: int = 0
    seed: int = 5


@dataclass(slots=True)
class Figures:
    """What the run showed."""

    values: dict[str, float] = field(default_factory=dict)

    def __setitem__(self, name: str, value: float) -> None:
        self.values[name] = round(float(value), 2)


async def play(plan: Plan, folder: Path) -> Figures:
    """The story; asserts what must hold at every stage."""
    place = world.load_world("W1")
    # Both centres can bear it together also when the primary has lost 35 % of its capacity.
    place = replace(place, arrivals=replace(place.arrivals, peak_rps=290.0))
    drawn = weather.draw(place, plan.first_minute + plan.end + SPARE, plan.seed)
    settings = {
        "time_scale": plan.scale,
        "training_settings": "residual",
        "envoy_preflight": "off",
        "retraining": plan.retraining,
        # A limit of 120 s is 100 ms here, less than a pause of Python's garbage collector.
        "envelope": {"fresh_s": 600.0, "ramp_after_s": 3_000.0},
        # Not scaled: a minute would be most of a day.
        "evacuation": {"well_s": 0.5},
    }
    figures = Figures()
    async with places(NAMES) as there, serving(folder, settings) as server:
        ports = (there[NAMES[0]].port, there[NAMES[1]].port)
        (await server.http.put("/v1/fleet", json=fleet(place, ports))).raise_for_status()
        player = Player(
            server=server,
            world=place,
            weather=drawn,
            minute_s=60 * plan.scale,
            first_minute=plan.first_minute,
        )
        outages = Outages(server=server, player=player, place=there[NAMES[0]])
        story = Story(server=server, player=player, plan=plan, figures=figures, outages=outages)
        async with player.playing(story.watch):
            await story.learn()
            await outages.strike(tuple(Fault))
            await story.drift()
            await story.go_bad()
            await outages.strike((Fault.REFUSES,))
            await player.until(plan.end)
        outages.judge(figures.values)
        await story.collect()
        await story.judge()
    return figures


@dataclass(slots=True)
class Story:
    """One run of a plan. `decisions` are all that were made, by id."""

    server: Server
    player: Player
    plan: Plan
    figures: Figures
    outages: Outages
    decisions: dict[str, dict] = field(default_factory=dict)
    memory_mb: list[float] = field(default_factory=list)

    async def learn(self) -> None:
        """From nothing to a model in service, and the calendar's second training."""
        first = await self.until("a first model in service", self.champion, self.plan.second_by)
        self.figures["first_model_in_service_minute"] = self.player.minute
        assert first

        async def trained_twice() -> bool:
            return len(await self.jobs("weekly", "succeeded")) >= 2

        await self.until("the calendar's second training", trained_twice, self.plan.second_by)
        await self.quiet()

    async def drift(self) -> None:
        """The primary gets slower: capacity -35 %. A training begins by itself."""
        await self.player.until(self.plan.drift_at)
        earlier = len(await self.jobs("early"))
        began = self.player.minute
        self.player.world = slower(self.player.world, 1 / 0.65)

        async def trained() -> bool:
            return len(await self.jobs("early")) > earlier

        await self.until("an early training", trained, began + self.plan.early_within)
        self.figures["drift_to_early_training_cycles"] = (
            self.player.minute - began
        ) / CYCLE_MINUTES

        async def succeeded() -> bool:
            return len(await self.jobs("early", "succeeded")) > earlier

        await self.until("an early model", succeeded, began + 2 * self.plan.early_within + 400)

    async def go_bad(self) -> None:
        """A constant, an inverted and a not-a-number model; each loses the service."""
        sound = self.server.folder / "models" / await self.champion()
        for kind, minute in zip(bad_models.KINDS, self.plan.bad_at, strict=True):
            await self.player.until(minute)
            await self.quiet()
            await self.demoted(kind, bad_models.upload(kind, sound))

    async def demoted(self, kind: str, data: bytes) -> None:
        """Promote a bad model by hand and wait until the rule has taken over from it."""
        http = self.server.http
        answer = await http.post("/v1/models", content=data, params={"reason": f"bad: {kind}"})
        answer.raise_for_status()
        digest = answer.json()["digest"]
        # What was examined says so; a person may have it all the same.
        body = {"service": SERVICE, "reason": f"bad: {kind}", "force": True}
        (await http.post(f"/v1/models/{digest}:promote", json=body)).raise_for_status()
        began = self.player.minute

        async def lost() -> bool:
            found = await self.server.items("/v1/findings", subject=f"service/{SERVICE}")
            return any(
                one["code"] == "model_demoted" and digest[:12] in one["message"] for one in found
            )

        within = DEMOTED_WITHIN[kind] * CYCLE_MINUTES
        await self.until(f"the {kind} model's demotion", lost, began + within)
        self.figures[f"{kind}_demoted_after_cycles"] = (self.player.minute - began) / CYCLE_MINUTES

    async def quiet(self) -> None:
        """Wait until no training runs and no model is on trial."""

        async def nothing_open() -> bool:
            running = [job for job in await self.jobs() if job["state"] in ("queued", "running")]
            models = await self.server.items("/v1/models", service=SERVICE)
            return not running and not any("shadow" in model["aliases"] for model in models)

        await self.until("a quiet moment", nothing_open, self.player.minute + 1_500)

    async def champion(self) -> str:
        """Digest of the model in service; "" without one."""
        (service,) = await self.server.items("/v1/services")
        return str(service["model"])

    async def jobs(self, trigger: str = "", state: str = "") -> list[dict]:
        """Jobs of the service, newest first."""
        found = await self.server.items("/v1/jobs", service=SERVICE, limit=1000)
        return [
            job
            for job in found
            if (not trigger or job["trigger"] == trigger) and (not state or job["state"] == state)
        ]

    async def until(self, what: str, holds: Callable[[], Awaitable[object]], minute: float) -> str:
        """Wait for something; fail when it has not come by a simulated minute."""
        while not (found := await holds()):
            if self.player.minute >= minute:
                raise AssertionError(
                    f"{what} had not come by minute {minute:g}: {await self.state()}"
                )
            await asyncio.sleep(self.player.minute_s)
        return str(found)

    async def state(self) -> str:
        """How it stands, for a failure's message."""
        (service,) = await self.server.items("/v1/services")
        jobs = [
            f"{job['trigger']} {job['state']} {job['created']} {job['message']}"
            for job in await self.jobs()
        ]
        steps = await self.server.items(f"/v1/services/{SERVICE}/promotions")
        told = [f"{step['event']} {step['model'][:6]}: {step['reason']}" for step in steps]
        found = [one["message"] for one in await self.server.items("/v1/findings")]
        return "\n".join(
            (f"{service['decision']['strategy']} {service['model'][:6]}", *jobs, *told, *found)
        )

    async def watch(self) -> None:
        """Collect decisions and memory until cancelled."""
        while True:
            await asyncio.sleep(MOST_DECISIONS / 3 * CYCLE_MINUTES * self.player.minute_s)
            await self.collect()

    async def collect(self) -> None:
        """Take what was decided since the last time."""
        found = await self.server.items("/v1/decisions", service=SERVICE, limit=MOST_DECISIONS)
        self.decisions |= {decision["id"]: decision for decision in found}
        self.memory_mb.append(self.server.memory_mb())

    async def judge(self) -> None:
        """What must hold over the whole run."""
        figures, player = self.figures, self.player
        for trigger in ("weekly", "early"):
            figures[f"{trigger}_trainings"] = len(await self.jobs(trigger, "succeeded"))
        figures["failed_trainings"] = len(await self.jobs(state="failed"))
        figures["minutes"] = player.minute
        figures["sent_late_minutes"] = player.late_minutes
        figures["decisions"] = len(self.decisions)
        figures["late_cycles"] = await self.server.metric("signalbox_late_cycles_total")
        figures["memory_start_mb"] = self.memory_mb[0]
        figures["memory_end_mb"] = self.memory_mb[-1]
        scheduled = [one for one in self.decisions.values() if not self._is_emergency(one)]
        figures["guard_violations"] = sum(map(violates, scheduled))
        figures["minutes_over_declared_capacity"] = sum(self._over_declared())
        figures["minutes_saturated"] = sum(max(minute.use) > 1.0 for minute in player.seen)
        late = [line for line in self.server.log.read_text().splitlines() if "cycle.late" in line]
        assert figures.values["late_cycles"] == 0, (figures.values, late[:9])
        assert figures.values["failed_trainings"] == 0, figures.values
        assert figures.values["guard_violations"] == 0, figures.values
        assert figures.values["minutes_over_declared_capacity"] == 0, figures.values
        assert max(self.memory_mb) < self.memory_mb[0] + 100.0, self.memory_mb

    def _is_emergency(self, decision: dict) -> bool:
        """Whether a failover had its say while it was made: no bound and no step holds it."""
        time_s = datetime.fromisoformat(decision["time"]).timestamp()
        return self.outages.covers((time_s - self.player.start_s) / self.player.minute_s)

    def _over_declared(self) -> list[bool]:
        """Minutes in which the weights sent a centre more than its pool is declared to bear.

        Not those of an outage: what one centre cannot bear alone its gateways refuse then, and the
        simulated world has none.
        """
        declared = [one.capacity_rps for one in (self._declared.primary, self._declared.secondary)]
        return [
            any(rate > most for rate, most in zip(minute.offered_rps, declared, strict=True))
            for minute in self.player.seen
            if not self.outages.covers(minute.minute)
        ]

    @property
    def _declared(self) -> world.World:
        return world.load_world("W1")


def violates(decision: dict) -> bool:
    """Whether a decision left what the envelope allows: whole, within bounds, within a step."""
    applied = [decision["applied"][name] for name in NAMES]
    decided = [decision["decided"][name] for name in NAMES]
    whole = abs(sum(decided) - 1.0) < ROUNDING
    inside = all(LOW - ROUNDING <= share <= HIGH + ROUNDING for share in decided)
    near = all(
        abs(after - before) <= HOT_STEP + ROUNDING
        for before, after in zip(applied, decided, strict=True)
    )
    return not (whole and inside and near)
