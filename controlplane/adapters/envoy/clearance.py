"""Clears an artifact for the streams: what an Envoy refuses is left out, item by item.

Owned by `plane`, used by one task at a time. Asks the local Envoy where there is one, and takes
the refusals of real ones. Must never leave out what was not judged while nothing is known to be
good: then the whole artifact waits, and Envoys keep what they have.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from controlplane.adapters.envoy.culprits import named
from controlplane.adapters.envoy.forms import ALL, KINDS, Form, forms, marked, seen_by
from controlplane.adapters.envoy.nodes import StandingRefusal
from controlplane.adapters.envoy.offers import Refusal
from controlplane.adapters.envoy.preflight import Preflight
from controlplane.adapters.envoy.quarantine import (
    LONGEST_WORDS,
    Exclusion,
    Quarantine,
    Verdict,
)
from controlplane.adapters.envoy.questions import Part, alone, checked, to_ask_about
from controlplane.adapters.envoy.refusal_file import RefusalFile
from controlplane.adapters.envoy.render import Renderer
from controlplane.adapters.envoy.search import NOT_JUDGED, Search
from controlplane.domain.errors import Invalid, Rejected, Retryable
from controlplane.domain.findings import Observation
from controlplane.domain.snapshot import Content, Snapshot
from controlplane.domain.xds import ResourceType
from controlplane.ports.outside import Artifact

CHECKER = "envoy --mode validate"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearanceOptions:
    """What is asked and what is remembered.

    Attributes:
        preflight: one without a binary lets everything pass.
        refusals: where exclusions outlive a restart.
        search_s: for finding the items that the local Envoy refuses.
        silent_s: without an answer of it, after which nothing waits for one.
    """

    preflight: Preflight = field(default_factory=lambda: Preflight(binary=None))
    refusals: RefusalFile = field(default_factory=RefusalFile)
    search_s: float = 4.0
    silent_s: float = 10.0


class Clearance:
    """What may go to the streams; `unfinished` asks to be cleared again, some is not judged."""

    def __init__(self, options: ClearanceOptions) -> None:
        self._preflight = options.preflight
        self._file = options.refusals
        self._search_s, self._silent_s = options.search_s, options.silent_s
        self._quarantine = Quarantine()
        self._renderer = Renderer()
        self._passed: Mapping[str, bytes] = {}
        self._unusable = ""
        # When the local Envoy was asked first of those times that it gave no answer.
        self._silent_since: float | None = None
        self._loaded = False
        self._left = 0
        # What a try found that had no time to get to its end, by the artifact's version.
        self._found: tuple[str, tuple[Exclusion, ...]] = ("", ())
        self.unfinished = False
        # Refusals that nobody can be blamed for are not looked into again and again.
        self._judged_before: dict[ResourceType, tuple[str, ResourceType, str]] = {}

    def asks(self, artifact: Artifact) -> bool:
        """Whether clearing has to wait for the local Envoy."""
        if self._preflight.binary is None:
            return False
        return bool(to_ask_about(checked(artifact), self._passed))

    async def clear(self, artifact: Artifact) -> Artifact:
        """The artifact without what is refused.

        Raises:
            Rejected: the local Envoy refuses it and no item can be blamed.
            Retryable: the local Envoy gave no answer in time, or not enough of them.
        """
        await self._load()
        before = self._quarantine.exclusions
        snapshot = artifact.snapshot
        if before:
            await asyncio.to_thread(self._quarantine.review, snapshot.content)
        version, found = self._found
        self._found = ("", ())
        if version == artifact.version:
            self._quarantine.reset((*self._quarantine.exclusions, *found))
        try:
            made = await self._judged(artifact, snapshot)
        except Retryable:
            # The next try goes on from here: where much is refused, one is too short for all.
            self._found = (artifact.version, self._quarantine.exclusions)
            self._quarantine.reset(before)
            raise
        except Rejected:
            self._quarantine.reset(before)
            raise
        await self._save(before)
        # As long as each round gets further; a machine that is too slow waits for the next apply.
        left, self._left = self._left, self._quarantine.unjudged
        self.unfinished = self._left > 0 and (left == 0 or self._left < left)
        return made

    async def refused(self, artifact: Artifact, refusals: Iterable[Refusal]) -> bool:
        """Take what Envoys refused; whether something is excluded because of it."""
        before = self._quarantine.exclusions
        snapshot = artifact.snapshot
        for refusal in refusals:
            kinds = KINDS.get(refusal.kind)
            judged = (artifact.version, refusal.kind, refusal.version)
            if kinds is not None and judged != self._judged_before.get(refusal.kind):
                self._judged_before[refusal.kind] = judged
                blamed = await asyncio.to_thread(self._blamed, snapshot.content, kinds, refusal)
                verdict = Verdict(by=f"Envoy {refusal.node}", words=blamed)
                self._quarantine.exclude(snapshot.content, verdict)
        await self._save(before)
        return self._quarantine.exclusions != before

    def acked(self, made: Artifact, group: str, kind: ResourceType) -> None:
        """An Envoy of a group runs what is served of a type."""
        if kind in KINDS:
            self._quarantine.acked(made.snapshot.content, KINDS[kind], group)

    def observations(self, artifact: Artifact) -> tuple[Observation, ...]:
        """What is not in force as it was published, and whether nobody checks before a push."""
        found = self._quarantine.observations(artifact.snapshot.content)
        return (*found, *([_unusable(self._unusable)] if self._unusable else []))

    def standing(
        self, artifact: Artifact, refusals: Iterable[StandingRefusal]
    ) -> tuple[Observation, ...]:
        """A finding for each group in which an Envoy stands by a refusal."""
        groups: dict[str, list[StandingRefusal]] = {}
        for one in refusals:
            groups.setdefault(one.group, []).append(one)
        present = forms(artifact.snapshot.content) if groups else {}
        return tuple(_standing(told, present) for _, told in sorted(groups.items()))

    async def _judged(self, artifact: Artifact, snapshot: Snapshot) -> Artifact:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._search_s
        while True:
            made = await self._without(artifact, snapshot)
            parts = checked(made)
            words = await self._words_soon(to_ask_about(parts, self._passed))
            if words is None:
                await self._accept(parts, made)
                return made
            late = partial(_is_late, loop.time, deadline)
            blamed = await self._culprits(snapshot.content, words, late)
            self._quarantine.exclude(snapshot.content, Verdict(by=CHECKER, words=blamed))

    async def _accept(self, parts: Mapping[str, bytes], made: Artifact) -> None:
        if parts == self._passed:
            return
        self._passed = parts
        if self._preflight.binary is not None and not self._unusable:
            await asyncio.to_thread(self._quarantine.checked, made.snapshot.content)

    async def _without(self, artifact: Artifact, snapshot: Snapshot) -> Artifact:
        # Weights come this way too: with nothing excluded they must not wait for a thread.
        if not self._quarantine.exclusions:
            return artifact
        return await asyncio.to_thread(self._compiled, snapshot)

    def _compiled(self, snapshot: Snapshot) -> Artifact:
        content = self._quarantine.without(snapshot.content)
        return self._renderer.render(marked(snapshot, content, self._quarantine.mark))

    async def _words_soon(self, parts: Sequence[Part]) -> str | None:
        """As `_words`; a local Envoy that gives no answer for long is no reason to wait for more.

        A failover may be behind it. What is pushed then, real Envoys judge themselves.
        """
        now = asyncio.get_running_loop().time
        since_s = now() if self._silent_since is None else self._silent_since
        try:
            words = await self._words(parts)
        except Retryable:
            self._silent_since = since_s
            silent_s = now() - since_s
            if silent_s < self._silent_s:
                raise
            self._unusable = (
                f"{CHECKER} has given no answer for {silent_s:.0f} s: look at this machine's load "
                "and memory"
            )
            return None
        self._silent_since = None
        return words

    async def _words(self, parts: Sequence[Part]) -> str | None:
        """The local Envoy's words when it refuses, None when it takes them or cannot be asked."""
        if not parts:
            return None
        try:
            await self._preflight.check(parts)
        except Rejected as error:
            return str(error.details["words"])
        except Invalid as error:
            self._unusable = error.message
            return None
        self._unusable = ""
        return None

    async def _culprits(
        self, content: Content, words: str, late: Callable[[], bool]
    ) -> dict[str, str]:
        suspects = await asyncio.to_thread(self._quarantine.suspects, content)
        if not late():
            if found := named(words, suspects):
                return dict.fromkeys(sorted(found), words)
            ask = partial(self._ask, self._quarantine.without(content))
            search = Search(ask=ask, late=late)
            judged = await search.refused(sorted(suspects))
            whole = NOT_JUDGED not in judged.values() and len(judged) < len(suspects)
            if judged and (whole or self._quarantine.knows(ALL)):
                return judged
        if suspects and self._quarantine.knows(ALL):
            return dict.fromkeys(sorted(suspects), NOT_JUDGED if late() else words)
        if late():
            raise Retryable(
                "envoy_preflight_timeout",
                f"{CHECKER} refuses the configuration ({words}), and no item of it could be blamed "
                f"within {self._search_s:g} s; nothing was left out, because nothing is known to "
                "be good yet",
            )
        raise Rejected(
            "envoy_preflight_failed",
            f"{CHECKER} refuses the configuration, and no single item explains it: {words}",
            {"words": words},
        )

    async def _ask(self, content: Content, subjects: Sequence[str]) -> str | None:
        made = await asyncio.to_thread(alone, content, subjects)
        return await self._words(made)

    def _blamed(self, content: Content, kinds: Collection[str], refusal: Refusal) -> dict[str, str]:
        # It has seen what its own group is sent only.
        unproven, present = (
            {subject: form for subject, form in some.items() if seen_by(form, refusal.group)}
            for some in (self._quarantine.unproven(content, kinds), forms(content, kinds))
        )
        found: Collection[str] = named(refusal.words, unproven) or named(refusal.words, present)
        if not found and self._quarantine.knows(kinds):
            # What is new of this kind goes back to what was acknowledged, and the rest goes on.
            found = unproven
        return dict.fromkeys(sorted(found), refusal.words)

    async def _load(self) -> None:
        if not self._loaded:
            again = CHECKER if self._preflight.binary is not None else ""
            self._quarantine.resume(await asyncio.to_thread(self._file.load), again)
            self._loaded = True

    async def _save(self, before: object) -> None:
        now = self._quarantine.exclusions
        if now != before:
            log.info("envoy.excluded", subjects=[one.subject for one in now])
            await asyncio.to_thread(self._file.save, now)


def _is_late(now: Callable[[], float], deadline_s: float) -> bool:
    return now() >= deadline_s


def _standing(told: Sequence[StandingRefusal], present: Mapping[str, Form]) -> Observation:
    first = told[0]
    blamed = sorted(named(first.words, present))
    means = f", which means {', '.join(blamed[:5])}" if blamed else ""
    more = f", and {len(told) - 1} more in this group" if len(told) > 1 else ""
    return Observation(
        code="gateway_refuses",
        subject=f"gateway/{first.group}",
        message=f"{first.node} refuses {first.kind}: {first.words[:LONGEST_WORDS]}{means}{more}; "
        "correct the item, or the place where this Envoy runs",
        held=f"this Envoy keeps the {first.kind} resources that it acknowledged last",
    )


def _unusable(message: str) -> Observation:
    return Observation(
        code="envoy_preflight_unusable",
        subject="source/envoy-preflight",
        message=message,
        held="nothing: Envoys judge each push themselves, and what they refuse is left out then",
    )
