"""Items that an Envoy refused, and what stands in for them.

Owned by `plane`, used in its one writing task. An item is excluded in one form: when the form
changes, the exclusion is over. It keeps the last form that was accepted, if there was one, else
it is left out. Must never touch an item that was neither named nor new.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from controlplane.adapters.envoy.forms import (
    Form,
    dependents,
    digest,
    forms,
    kind_of,
    seen_by,
    with_kept,
)
from controlplane.adapters.envoy.search import NOT_JUDGED
from controlplane.domain import canonical
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.snapshot import Content

LONGEST_WORDS = 500
# Without a whitelist everything passes.
GRAVE = frozenset({"service", "whitelist"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """One item in one form.

    Attributes:
        refused: digest of the form; words: Envoy's; by: who said so.
        kept: the form in force in its place; None leaves the item out.
    """

    subject: str
    refused: str
    words: str
    by: str
    kept: Form | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Who refuses which items, in its words."""

    by: str
    words: Mapping[str, str]


class Quarantine:
    """What is excluded, and what was accepted: `checked` by the preflight, `acked` by Envoys."""

    def __init__(self) -> None:
        self._excluded: dict[str, Exclusion] = {}
        self._before: dict[str, Form] = {}
        self._checked: dict[str, Form] = {}
        self._acked: dict[str, Form] = {}

    @property
    def exclusions(self) -> tuple[Exclusion, ...]:
        """All, by subject."""
        return tuple(one for _, one in sorted(self._excluded.items()))

    @property
    def unjudged(self) -> int:
        """How many are excluded only because there was no time to judge them."""
        return sum(one.words == NOT_JUDGED for one in self._excluded.values())

    @property
    def mark(self) -> str:
        """Another one whenever something else is excluded or kept; "" when nothing is."""
        if not self._excluded:
            return ""
        rows = [(x.subject, x.refused, digest(x.kept) if x.kept else "") for x in self.exclusions]
        return canonical.digest(canonical.encode(rows))

    def review(self, content: Content) -> None:
        """Drop the exclusions whose items are gone, changed, or still to be judged."""
        present = forms(content) if self._excluded else {}
        self._excluded = {
            subject: one
            for subject, one in self._excluded.items()
            if one.words != NOT_JUDGED
            and subject in present
            and digest(present[subject]) == one.refused
        }

    def without(self, content: Content) -> Content:
        """The content with what stands in for excluded items."""
        return with_kept(content, self._kept()) if self._excluded else content

    def suspects(self, content: Content) -> dict[str, Form]:
        """The items whose form nobody has accepted, and that are not excluded already."""
        return {
            subject: form
            for subject, form in forms(content).items()
            if form not in (self._acked.get(subject), self._checked.get(subject))
            and subject not in self._excluded
        }

    def unproven(self, content: Content, kinds: Collection[str]) -> dict[str, Form]:
        """The items of some kinds in a form that no Envoy has acknowledged."""
        return {
            subject: form
            for subject, form in forms(content, kinds).items()
            if form != self._acked.get(subject) and subject not in self._excluded
        }

    def resume(self, exclusions: Iterable[Exclusion], again: str) -> None:
        """Take up what an earlier run excluded; what `again` refused is to be judged anew.

        A newer binary may take it; if not, the form that stood in for it does so again.
        """
        known = tuple(exclusions)
        self.reset(one for one in known if one.by != again)
        self._before = {one.subject: one.kept for one in known if one.kept is not None}

    def exclude(self, content: Content, verdict: Verdict) -> None:
        """Keep these items of the published content out from now on."""
        present = forms(content)
        for subject, words in verdict.words.items():
            form = present[subject]
            accepted = (self._acked, self._checked, self._before)
            earlier = (known.get(subject) for known in accepted)
            self._excluded[subject] = Exclusion(
                subject=subject,
                refused=digest(form),
                words=words[:LONGEST_WORDS],
                by=verdict.by,
                kept=next((one for one in earlier if one is not None and one != form), None),
            )

    def checked(self, content: Content) -> None:
        """The preflight takes this content, which is without what is excluded."""
        self._checked = forms(content)

    def acked(self, content: Content, kinds: Collection[str], group: str) -> None:
        """An Envoy of a group has acknowledged the items of these kinds in the served content."""
        found = forms(content, kinds)
        # It has seen what its own group is sent only.
        seen = {subject: form for subject, form in found.items() if seen_by(form, group)}
        kept = {
            subject: form
            for subject, form in self._acked.items()
            if kind_of(subject) not in kinds or subject in found
        }
        self._acked = kept | seen

    def knows(self, kinds: Collection[str]) -> bool:
        """Whether an item of these kinds was ever accepted, so that there is something to keep."""
        accepted = (*self._acked, *self._checked)
        return any(kind_of(subject) in kinds for subject in accepted)

    def reset(self, exclusions: Iterable[Exclusion]) -> None:
        """Exclude these and nothing else."""
        self._excluded = {one.subject: one for one in exclusions}

    def observations(self, content: Content) -> tuple[Observation, ...]:
        """What is not in force as it was published."""
        kept = self._kept()
        return (*map(_observation, self.exclusions), *dependents(content, kept))

    def _kept(self) -> dict[str, Form | None]:
        return {subject: one.kept for subject, one in self._excluded.items()}


def _observation(one: Exclusion) -> Observation:
    kind, _, name = one.subject.partition("/")
    stays = "its last accepted form stays in force" if one.kept else f"the {kind} is left out"
    return Observation(
        code="item_refused",
        subject=one.subject,
        message=f"{one.by} refuses {kind} {name}: {one.words}; correct it and apply again",
        held=f"{stays}; everything else is in force",
        force=f"to have the same form offered again, apply the fleet without the {kind}, then "
        "with it",
        severity=Severity.CRITICAL if kind in GRAVE else Severity.WARNING,
    )
