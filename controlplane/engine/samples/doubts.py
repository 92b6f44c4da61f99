"""What is known of the metrics of one service: newest samples, doubts about them, forces.

The memory of `suspicion`, one value for each service.
"""

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from controlplane.domain.suspicion.doubt import FORCIBLE, Doubt, Suspicion
from controlplane.domain.telemetry import Sample, order, received_by

# Held samples per data centre that a force takes in: the window of an hour and some more.
MOST_HELD = 100
# Good samples in a row after which a force has done its work.
SETTLED = 3


@dataclass(slots=True)
class Force:
    """An operator's word on one doubt about one data centre, by the id of the finding."""

    finding: str
    until_s: float
    good: int = 0


@dataclass(slots=True)
class Doubts:
    """One service; every mapping is by data centre.

    Attributes:
        heard_s: when the first sample of the service came.
        newest: the newest sample, trusted or not.
        refused_s: when the last refused sample came: whoever sends such has not stopped.
        told: doubts that samples brought up; `looked`: those that looking brought up.
        held: doubted samples, by time.
    """

    heard_s: float
    newest: dict[str, Sample] = field(default_factory=dict)
    refused_s: dict[str, float] = field(default_factory=dict)
    told: dict[str, Suspicion] = field(default_factory=dict)
    looked: tuple[Suspicion, ...] = ()
    held: dict[str, deque[Sample]] = field(default_factory=dict)
    forces: dict[tuple[str, Doubt], Force] = field(default_factory=dict)

    def standing(self) -> tuple[Suspicion, ...]:
        """Each doubt once; two data centres share the one about their exchange."""
        return tuple(dict.fromkeys((*self.told.values(), *self.looked)))

    def received_s(self) -> dict[str, float]:
        """When something was last received, whatever it was."""
        received = {name: sample.received_s for name, sample in self.newest.items()}
        for name, time_s in self.refused_s.items():
            received[name] = max(received.get(name, 0.0), time_s)
        return received

    def refuse(self, center: str, message: str, now_s: float) -> None:
        """A sample was no fact."""
        self.refused_s[center] = now_s
        self.told[center] = Suspicion(doubt=Doubt.REFUSED, centers=(center,), message=message)

    def trust(self, sample: Sample) -> None:
        """Take up a sample that is true; nothing is held of its data centre any more."""
        center = sample.datacenter
        if self._is_late(sample):
            return
        self._end_silence(sample)
        self.newest[center] = sample
        self.told.pop(center, None)
        self.held.pop(center, None)

    def hold(self, sample: Sample, doubt: Suspicion) -> None:
        """Take up a sample that is doubted, and those that are doubted with it."""
        if self._is_late(sample):
            return
        self._end_silence(sample)
        self.newest[sample.datacenter] = sample
        self.told.update(dict.fromkeys(doubt.centers, doubt))
        for one in (*doubt.also, sample):
            marked = replace(one, suspicion=doubt.doubt.value)
            self._keep(marked)
            if one.time_s == self.newest[one.datacenter].time_s:
                self.newest[one.datacenter] = marked

    def restore(self, samples: Collection[Sample]) -> None:
        """Take up what was stored before a restart."""
        for sample in sorted(samples, key=order):
            self.newest[sample.datacenter] = sample
            if sample.suspicion in FORCIBLE:
                self._keep(sample)
            else:
                self.held.pop(sample.datacenter, None)
        for center, newest in self.newest.items():
            if newest.suspicion in FORCIBLE:
                self.told[center] = self._earlier(newest)

    def turn_back(self, now_s: float) -> None:
        """The clock was set back: nothing was heard after now."""
        self.heard_s = min(self.heard_s, now_s)
        self.refused_s = {name: min(at_s, now_s) for name, at_s in self.refused_s.items()}
        self.newest = {name: received_by(one, now_s) for name, one in self.newest.items()}

    def forget(self, last_s: Mapping[str, float], since_s: float) -> None:
        """Drop doubts about data centres of which nothing came since then, or that are gone.

        Of those that should send, the silence is told instead.
        """
        self.told = {
            name: doubt for name, doubt in self.told.items() if last_s.get(name, 0.0) >= since_s
        }

    def is_forced(self, suspicion: Suspicion, now_s: float) -> bool:
        """Whether an operator's word on it counts now."""
        forces = (self.forces.get((name, suspicion.doubt)) for name in suspicion.centers)
        return any(force is not None and force.until_s > now_s for force in forces)

    def force(self, suspicion: Suspicion, force: Force) -> tuple[Sample, ...]:
        """Take an operator's word; the samples that were held for the suspicion, now trusted."""
        released: list[Sample] = []
        for center in suspicion.centers:
            self.forces[center, suspicion.doubt] = replace(force)
            self.told.pop(center, None)
            released += (replace(one, suspicion=None) for one in self.held.pop(center, ()))
        self.looked = tuple(one for one in self.looked if one != suspicion)
        self.newest.update({sample.datacenter: sample for sample in released})
        return tuple(released)

    def settle(self, sample: Sample, doubts: Collection[Doubt]) -> None:
        """Let a force end when what it was for has been over for some new samples."""
        if not self._is_new(sample):
            return
        for key, force in list(self.forces.items()):
            if key[0] == sample.datacenter and key[1] is not Doubt.SHARES_SWAPPED:
                force.good = 0 if key[1] in doubts else force.good + 1
                if force.good >= SETTLED:
                    del self.forces[key]

    def _is_late(self, sample: Sample) -> bool:
        newest = self.newest.get(sample.datacenter)
        return newest is not None and order(sample) < order(newest)

    def _is_new(self, sample: Sample) -> bool:
        newest = self.newest.get(sample.datacenter)
        return newest is None or order(sample) > order(newest)

    def _keep(self, sample: Sample) -> None:
        self.held.setdefault(sample.datacenter, deque(maxlen=MOST_HELD)).append(sample)

    def _end_silence(self, sample: Sample) -> None:
        if self._is_new(sample):
            silence = (Doubt.STOPPED, (sample.datacenter,))
            self.looked = tuple(one for one in self.looked if (one.doubt, one.centers) != silence)

    def _earlier(self, newest: Sample) -> Suspicion:
        """The doubt about a stored sample; an exchange is one of all that took part in it."""
        doubt = Doubt(str(newest.suspicion))
        centers: tuple[str, ...] = (newest.datacenter,)
        if doubt is Doubt.SWAPPED:
            centers = tuple(sorted(n for n, one in self.newest.items() if one.suspicion == doubt))
        message = "the newest sample was suspicious before the restart"
        return Suspicion(doubt=doubt, centers=centers, message=message)
