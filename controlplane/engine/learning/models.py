"""Models in service: champion and shadow of each service, kept in memory, moved by steps.

Called by the API and by training jobs (enroll, promote, roll back) and by the ladder (promote,
refuse, demote); read by the loop. Each step is in the promotion log before it is in force. A
model that cannot be loaded is never put in service; the one before it stays.
"""

from collections import Counter
from collections.abc import Mapping

from controlplane.domain.access import Principal
from controlplane.domain.errors import Conflict, Invalid, NotFound, Refused
from controlplane.domain.examination import objection_to
from controlplane.domain.findings import Observation, Source
from controlplane.domain.promotions import (
    Alias,
    Promoting,
    Promotion,
    PromotionEvent,
    earlier_champion,
    in_service_since_s,
    is_demoted,
)
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.learning.promotion_log import OURSELVES, PromotionLog
from controlplane.engine.stages import Instruments
from controlplane.engine.turns import Turns
from controlplane.ports.learning import ModelRegistry, StoredModel

# Characters of a forced promotion's reason, with what was said against it.
MOST_REASON = 2_000


class Models:
    """The registry and what is loaded from it."""

    def __init__(
        self,
        registry: ModelRegistry,
        fleets: Fleets,
        instruments: Instruments,
        promoting: Promoting = Promoting.AUTOMATIC,
    ) -> None:
        self._registry = registry
        self._fleets = fleets
        self._now = instruments.now
        self._findings = instruments.findings
        self._champions: dict[str, LearnedModel] = {}
        self._shadows: dict[str, LearnedModel] = {}
        self._since_s: dict[str, float] = {}
        self._enrolled_s: dict[str, float] = {}
        self._refused: dict[str, Promotion] = {}
        self._unreadable: dict[str, Observation] = {}
        # A step reads what it changes; two at once would name the wrong champion before.
        self._stepping = Turns()
        self._log = PromotionLog(registry, instruments.now)
        self.promoting = promoting

    @property
    def champions(self) -> Mapping[str, LearnedModel]:
        """Service -> the model that decides now, also one that is demoted."""
        return self._champions

    @property
    def shadows(self) -> Mapping[str, LearnedModel]:
        """Service -> the model that proves itself beside it."""
        return self._shadows

    @property
    def since_s(self) -> Mapping[str, float]:
        """Service -> when its champion was put in service, UTC epoch seconds."""
        return self._since_s

    @property
    def enrolled_s(self) -> Mapping[str, float]:
        """Service -> when its shadow began, since the start of this process."""
        return self._enrolled_s

    @property
    def refused(self) -> Mapping[str, Promotion]:
        """Service -> the step that refused its newest challenger, while nothing came after."""
        return self._refused

    @property
    def steps(self) -> Counter[PromotionEvent]:
        """Steps since the start of this process, by event."""
        return self._log.steps

    async def restore(self) -> None:
        """Load every champion and shadow; a damaged one is a finding, its service goes on."""
        # Also of services that are not declared now: they may be declared again.
        known = await self._registry.all(None)
        for stored in known:
            for alias, models in self._served():
                if alias in stored.aliases and (model := await self._loaded(stored, alias)):
                    models[stored.service] = model
        for service in {stored.service for stored in known if stored.aliases}:
            steps = await self._log.of(service)
            self._since_s[service] = in_service_since_s(steps)
            if steps and steps[0].event is PromotionEvent.REFUSED:
                self._refused[service] = steps[0]
        self._report()

    async def all(self, service: str | None = None) -> list[StoredModel]:
        """Registered models, newest first."""
        return await self._registry.all(service)

    async def promotions(self, service: str, limit: int) -> list[Promotion]:
        """The promotion log of a declared service, newest first; NotFound."""
        self._fleets.current.fleet.service(service)
        return await self._log.of(service, limit)

    async def enroll(self, data: bytes, author: Principal, reason: str = "") -> StoredModel:
        """Register an artifact as the challenger of its service, and into the shadow.

        One that something speaks against stays out of the shadow. The champion's own artifact is
        only registered again, which mends damaged files.

        Raises:
            Invalid: the artifact is damaged or for another schema.
        """
        audit = self._log.audit("model.add", author, reason)
        stored = await self._registry.add(data, self._now(), audit)
        async with self._stepping:
            # Another call may have promoted it since, or another one in its place.
            stored = await self._stored(stored)
            if Alias.CHAMPION in stored.aliases:
                await self._mend(stored)
                return stored
            model = await self._registry.by_digest(stored.digest)
            words = self._objection(stored.service, model)
            if words:
                step = self._step(PromotionEvent.REFUSED, stored.service, stored.digest)
                await self._record(step, OURSELVES, words)
            else:
                step = self._step(PromotionEvent.ENROLLED, stored.service, stored.digest)
                await self._record(step, author, reason)
                self._shadows[stored.service] = model
                self._enrolled_s[stored.service] = step.time_s
                self._forget(stored.service, Alias.SHADOW)
        return await self._stored(stored)

    async def promote(
        self,
        service: str,
        digest: str,
        author: Principal,
        reason: str = "",
        *,
        force: bool = False,
    ) -> None:
        """Make a registered model the champion of its service, from the next cycle on.

        A demoted champion decides again after this.

        Raises:
            NotFound: the service is not declared, or has no such model.
            Refused: something speaks against it, and it is not forced with a reason.
            Invalid: the model cannot be read; the champion before it stays.
        """
        self._fleets.current.fleet.service(service)
        async with self._stepping:
            if digest not in {model.digest for model in await self._registry.all(service)}:
                raise NotFound("model_not_found", f"service {service} has no model {digest}")
            # Read before the log says so: a damaged one must not be champion after a restart.
            model = await self._registry.by_digest(digest)
            words = self._objection(service, model)
            if words and not (force and reason):
                raise _objected(service, digest, words)
            step = self._step(PromotionEvent.PROMOTED, service, digest)
            why = f"forced: {reason} (against {words})" if words else reason
            await self._put_in_service(step, model, author, why[:MOST_REASON])

    async def roll_back(self, service: str, author: Principal, reason: str = "") -> str:
        """Put the champion before the present one back in service; its digest.

        Raises:
            NotFound: the service is not declared.
            Conflict: there was no champion before.
            Invalid: the earlier model cannot be read; the present one stays.
        """
        self._fleets.current.fleet.service(service)
        async with self._stepping:
            steps = await self._log.of(service)
            digest = earlier_champion(reversed(steps))
            if not digest:
                raise Conflict(
                    "no_earlier_champion",
                    f"service {service} had no champion before the present one; "
                    "promote a model by its digest",
                )
            # Read before the log says so: a damaged one must not be champion after a restart.
            model = await self._registry.by_digest(digest)
            step = self._step(PromotionEvent.ROLLED_BACK, service, digest)
            await self._put_in_service(step, model, author, reason)
        return digest

    async def refuse(self, service: str, digest: str, words: str) -> None:
        """Take a model out of the shadow that did not prove itself; it stays the challenger."""
        async with self._stepping:
            if self._digest(self._shadows, service) == digest:
                step = self._step(PromotionEvent.REFUSED, service, digest)
                await self._record(step, OURSELVES, words)
                del self._shadows[service]

    async def demoted(self, service: str, digest: str, words: str) -> None:
        """Write down that the champion lost its service to the rule; once per demotion.

        A restarted process sees the demotion anew, and others may have been enrolled since.
        """
        async with self._stepping:
            steps = await self._log.of(service)
            if not is_demoted(steps, digest):
                step = self._step(PromotionEvent.DEMOTED, service, digest)
                await self._record(step, OURSELVES, words)

    async def _put_in_service(
        self, step: Promotion, model: LearnedModel, author: Principal, reason: str
    ) -> None:
        await self._record(step, author, reason)
        self._champions[step.service] = model
        self._since_s[step.service] = step.time_s
        if self._digest(self._shadows, step.service) == step.model:
            del self._shadows[step.service]
        self._forget(step.service, Alias.CHAMPION)

    async def _record(self, step: Promotion, author: Principal, reason: str) -> None:
        written = await self._log.write(step, author, reason)
        self._refused.pop(step.service, None)
        if step.event is PromotionEvent.REFUSED:
            self._refused[step.service] = written

    async def _stored(self, known: StoredModel) -> StoredModel:
        """As it is now."""
        newest = await self._registry.all(known.service)
        return next(one for one in newest if one.digest == known.digest)

    async def _mend(self, stored: StoredModel) -> None:
        if stored.service not in self._champions:
            self._champions[stored.service] = await self._registry.by_digest(stored.digest)
            self._forget(stored.service, Alias.CHAMPION)

    async def _loaded(self, stored: StoredModel, alias: Alias) -> LearnedModel | None:
        try:
            return await self._registry.by_digest(stored.digest)
        except (Invalid, NotFound) as error:
            self._unreadable[f"{stored.service} {alias}"] = Observation(
                code="model_damaged",
                subject=f"service/{stored.service} model/{stored.digest}",
                message=f"the {alias} cannot be read: {error.message}",
                held="observed_laws decides instead" if alias is Alias.CHAMPION else "its trial",
                force="upload it again, promote another model, or roll back",
            )
            return None

    def _forget(self, service: str, alias: Alias) -> None:
        self._unreadable.pop(f"{service} {alias}", None)
        self._report()

    def _report(self) -> None:
        self._findings.report(Source.MODELS, self._unreadable.values(), scope="files")

    def _objection(self, service: str, model: LearnedModel) -> str:
        """What speaks against a model; one may be registered before its service is declared."""
        declared = [s for s in self._fleets.current.fleet.services if s.name == service]
        centers = [cluster.datacenter for one in declared for cluster in one.centers]
        return objection_to(model, self._champions.get(service), centers)

    def _served(self) -> tuple[tuple[Alias, dict[str, LearnedModel]], ...]:
        return (Alias.CHAMPION, self._champions), (Alias.SHADOW, self._shadows)

    def _digest(self, models: Mapping[str, LearnedModel], service: str) -> str:
        model = models.get(service)
        return model.digest if model is not None else ""

    def _step(self, event: PromotionEvent, service: str, digest: str) -> Promotion:
        return Promotion(
            time_s=self._now(),
            service=service,
            event=event,
            model=digest,
            before=self._digest(self._champions, service),
        )


def _objected(service: str, digest: str, words: str) -> Refused:
    return Refused(
        "examination_failed",
        f"model {digest[:12]} of service {service} is refused: {words}. Look at the rows that it "
        "was trained on; to have it all the same, promote it with force and a reason",
        {"service": service, "digest": digest},
    )
