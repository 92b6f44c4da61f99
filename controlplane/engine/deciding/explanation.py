"""A decision in words: what was known, what was proposed, what each guard did, what came of it.

Made from a replay, so it tells what the code really did. Pure; read by API, CLI and console.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from inspect import getdoc

from controlplane.domain.decisions import Decision
from controlplane.domain.guardrails.draft import NEGLIGIBLE, distance, predicted_ms
from controlplane.domain.guardrails.envelope import GUARDS, POOL_SHARED, Passage
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.strategies.situation import Note, Shares
from controlplane.domain.telemetry import Sample
from controlplane.domain.uncertainty import MOST_SCORES
from controlplane.engine.deciding.replay import Replay

PURPOSES = {guard.__name__: (getdoc(guard) or "").splitlines()[0] for guard in GUARDS}
RESULTS = {
    Outcome.MOVED: "these shares went out",
    Outcome.REVERTED: "the last move was undone",
    Outcome.RAMPED: "a step towards the static ratio went out",
    Outcome.DITHERED: "a small shift by chance went out",
    Outcome.HELD: "the shares in force stayed",
}


class Part(StrEnum):
    """Where in the decision a step belongs."""

    FACTS = "facts"
    STRATEGY = "strategy"
    GUARD = "guard"
    RESULT = "result"
    REGION = "region"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of the story.

    Attributes:
        name: the data centre, the strategy, the guard, or the outcome.
        says: one sentence for a person.
        shares: after this step, in the order of the decision's centres; () where it has none.
        codes: of the notes behind it.
    """

    part: Part
    name: str
    says: str
    shares: Shares = ()
    codes: tuple[str, ...] = ()


def explain(replay: Replay) -> tuple[Step, ...]:
    """The story of one decision, in order."""
    return (
        *_facts(replay.decision),
        _proposed(replay),
        *_judged(replay.passages),
        *_conceded(replay.decision),
        _result(replay.decision),
        *_regions(replay.decision),
    )


def _facts(decision: Decision) -> Iterator[Step]:
    newest = {sample.datacenter: sample for sample in decision.samples}
    for center, share in zip(decision.centers, decision.applied, strict=True):
        sample = newest.get(center)
        known = "no sample" if sample is None else _measured(sample, decision.time_s)
        yield Step(
            part=Part.FACTS, name=center, says=f"{known}; {share:.3f} of the traffic in force"
        )


def _measured(sample: Sample, now_s: float) -> str:
    words = [f"{sample.response_time_ms:.1f} ms"]
    if sample.request_rate_rps is not None:
        words.insert(0, f"{sample.request_rate_rps:.1f} requests/s")
    if sample.cpu_avg is not None:
        words.append(f"CPU {sample.cpu_avg:.0%}")
    return f"{', '.join(words)}, received {now_s - sample.received_s:.0f} s before"


def _proposed(replay: Replay) -> Step:
    proposal, decision = replay.proposal, replay.decision
    says = f"proposes {_text(proposal.shares)}"
    then_ms = predicted_ms(proposal, proposal.shares)
    now_ms = predicted_ms(proposal, decision.applied)
    if then_ms is not None:
        says += f", where it predicts {then_ms:.1f} ms"
        if now_ms is not None:
            says += f" against {now_ms:.1f} ms with the shares in force"
        if proposal.curve:
            says += f" ({len(proposal.curve)} candidates)"
    elif distance(proposal.shares, decision.applied) < NEGLIGIBLE:
        says = f"proposes to stay at {_text(proposal.shares)}"
    return Step(
        part=Part.STRATEGY,
        name=proposal.strategy,
        says=_with_notes(says, proposal.notes),
        shares=proposal.shares,
        codes=tuple(note.code for note in proposal.notes),
    )


def _judged(passages: tuple[Passage, ...]) -> Iterator[Step]:
    """The guards that had something to say; those that let the draft pass are one line."""
    silent = [passage.guard for passage in passages if not passage.notes and not _changed(passage)]
    for passage in passages:
        if passage.guard in silent:
            continue
        yield Step(
            part=Part.GUARD,
            name=passage.guard,
            says=_with_notes(PURPOSES[passage.guard], passage.notes),
            shares=passage.after,
            codes=tuple(note.code for note in passage.notes),
        )
    if silent:
        yield Step(
            part=Part.GUARD,
            name=f"{len(silent)} more",
            says=f"let it pass: {', '.join(silent)}",
        )


def _conceded(decision: Decision) -> Iterator[Step]:
    """The guard over all services, where it changed what the guards of this one let out."""
    concession = None if decision.inputs is None else decision.inputs.concession
    if concession is not None:
        yield Step(
            part=Part.GUARD,
            name="pools",
            says=f"Moves of one cycle together overfill no pool; {concession.reason}",
            shares=concession.shares,
            codes=(POOL_SHARED,),
        )


def _changed(passage: Passage) -> bool:
    if len(passage.before) != len(passage.after):
        return True
    return distance(passage.before, passage.after) >= NEGLIGIBLE


def _result(decision: Decision) -> Step:
    carried = f", in revision {decision.revision}" if decision.revision else ""
    return Step(
        part=Part.RESULT,
        name=decision.outcome,
        says=f"{RESULTS[decision.outcome]}: {_text(decision.decided)}{carried}{_awaited(decision)}",
        shares=decision.decided,
    )


def _awaited(decision: Decision) -> str:
    """The interval of the coming cycle, and how the last ones held."""
    said, past = decision.interval, decision.state.calibration
    if said is None:
        return ""
    words = f"; the coming cycle is expected at {said.low_ms:.1f} to {said.high_ms:.1f} ms"
    if past.coverage is None:
        return words
    known = min(past.judged, MOST_SCORES)
    return f"{words} ({known - len(past.misses)} of the last {known} such forecasts held)"


def _regions(decision: Decision) -> Iterator[Step]:
    """What became of the traffic of each source region."""
    for one in decision.regions:
        says = f"stays at {_text(one.decided)}"
        if distance(one.applied, one.decided) >= NEGLIGIBLE:
            says = f"goes from {_text(one.applied)} to {_text(one.decided)}"
        yield Step(
            part=Part.REGION,
            name=one.region,
            says=f"{one.weight:.3f} of the traffic, home is {_text(one.home)}: it {says}",
            shares=one.decided,
        )


def _with_notes(words: str, notes: tuple[Note, ...]) -> str:
    return "; ".join((words.rstrip("."), *(note.message for note in notes)))


def _text(shares: Shares) -> str:
    return "/".join(f"{share:.3f}" for share in shares)
