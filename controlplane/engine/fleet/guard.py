"""The suspicion guard of the fleet: what is refused, since when, and how it reads as a finding.

Owned by `fleets`. A change that removes or moves too much is refused unless forced, and
stays a finding until the next change is accepted, or for an hour. A store that comes back with an
older fleet, or with none, holds the fleet that is known and what is published.
"""

from controlplane.domain.access import Principal
from controlplane.domain.errors import Refused
from controlplane.domain.findings import Observation, Severity, Source
from controlplane.domain.suspicion.fleets import FORCE, FleetDoubt, doubt_of
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.topology import Fleet
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.publishing.shares import SharesInForce
from controlplane.engine.stages import Instruments

SUBJECT = "fleet"
APPLY, STORE = "apply", "store"
# Named in an answer; the rest is counted.
MOST_NAMED = 50


class FleetGuard:
    """Refused changes and doubtful stores.

    Args:
        publication: what is in force; None knows nothing of it.
    """

    def __init__(
        self, publication: Publication | None, limits: SuspicionLimits, instruments: Instruments
    ) -> None:
        self._shares = SharesInForce(publication, instruments.now)
        self._limits = limits
        self._now = instruments.now
        self._findings = instruments.findings
        self._refused_s: float | None = None
        self._behind = ""

    @property
    def behind(self) -> bool:
        """Whether the stored fleet is older than what is in force, so that nothing is built."""
        return bool(self._behind)

    def check(self, current: Fleet, wanted: Fleet, author: Principal) -> None:
        """Raise Refused, and keep it as a finding, when a change is suspicious."""
        self.check_store()
        doubt = self._doubt(current, wanted)
        if doubt is None:
            return
        self._refused_s = self._now()
        self._findings.report(Source.FLEET, [_refused(doubt, author)], scope=APPLY)
        raise _error(doubt)

    def check_store(self) -> None:
        """Raise Refused when the store has an older fleet than was in force."""
        if self._behind:
            raise Refused("fleet_behind", self._behind, {"force": FORCE})

    def objection(self, current: Fleet, wanted: Fleet) -> str:
        """Why `check` would refuse a change, "" when it would not; nothing is kept of it."""
        doubt = self._doubt(current, wanted)
        return self._behind or ("" if doubt is None else doubt.message)

    def accepted(self) -> None:
        """A change was made, or asked for what is in force: what was refused before is over."""
        self._refused_s = None
        self._behind = ""
        for scope in (APPLY, STORE):
            self._findings.report(Source.FLEET, (), scope=scope)

    def unchanged(self) -> None:
        """As `accepted`, but nothing was stored: a doubtful store stays doubtful."""
        self._refused_s = None
        self._findings.report(Source.FLEET, (), scope=APPLY)

    def look(self) -> None:
        """Forget a refusal after its time."""
        if self._refused_s is not None and self._now() - self._refused_s > self._limits.memory_s:
            self.unchanged()

    def store_behind(self, stored: int, known: int) -> None:
        """The store has an older fleet than is known; generations, 0 is none."""
        self._behind = (
            f"the store has the fleet of generation {stored}, generation {known} was in force: "
            "what is published stays; bring the newer database back, or apply the whole fleet "
            "with force"
        )
        observation = Observation(
            code="fleet_behind",
            subject=SUBJECT,
            message=self._behind,
            held="the published snapshot; nothing is built from the stored fleet",
            force=FORCE,
            severity=Severity.CRITICAL,
        )
        self._findings.report(Source.FLEET, [observation], scope=STORE)

    def _doubt(self, current: Fleet, wanted: Fleet) -> FleetDoubt | None:
        return doubt_of(current, wanted, self._shares.all(), self._limits)


def _error(doubt: FleetDoubt) -> Refused:
    items = list(doubt.items[:MOST_NAMED])
    details = {"items": items, "limit": doubt.limit, "force": FORCE}
    if doubt.code == "mass_move":
        return Refused("mass_move", doubt.message, details)
    if doubt.code == "mass_change":
        return Refused("mass_change", doubt.message, details)
    return Refused("mass_removal", doubt.message, details)


def _refused(doubt: FleetDoubt, author: Principal) -> Observation:
    return Observation(
        code=doubt.code,
        subject=SUBJECT,
        message=f"{author.name} asked for a change: {doubt.message}",
        held="the declared fleet; nothing of the change was made",
        force=FORCE,
    )
