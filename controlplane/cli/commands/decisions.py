"""Commands about decisions: list them, show one with its curve."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, LimitOption, connect
from controlplane.cli.curve import plot
from controlplane.cli.paths import path_of

DECISIONS = "/v1/decisions"
# Of two on one column the later one shows: what was decided outranks what was in force.
APPLIED, PROPOSED, DECIDED = "a", "p", "D"

app = typer.Typer(
    help="Decisions: what was decided, from which curve, and why.", no_args_is_help=True
)


@app.command("list")
def list_decisions(
    context: typer.Context,
    service: Annotated[str | None, typer.Option(help="Of this service only.")] = None,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """List the newest decisions."""
    found = connect(context).items(DECISIONS, {"service": service, "limit": limit})
    output.listing(
        found,
        as_json,
        ("ID", "TIME", "TRIGGER", "STRATEGY", "OUTCOME", "APPLIED", "DECIDED", "NOTES"),
        lambda d: (
            d["id"],
            output.when(d["time"]),
            d["trigger"],
            d["strategy"],
            d["outcome"],
            _shares(d["applied"]),
            _shares(d["decided"]),
            " ".join(note["code"] for note in d["notes"]) or None,
        ),
    )


@app.command()
def show(
    context: typer.Context,
    decision_id: Annotated[str, typer.Argument(metavar="ID", help="As `decisions list` shows it.")],
    as_json: JsonOption = False,
) -> None:
    """Show one decision with its curve, notes and samples."""
    decision = connect(context).get(path_of(DECISIONS, decision_id))
    if as_json:
        output.emit(decision)
        return
    output.facts(_facts(decision))
    for line in _curve(decision):
        print(line)
    for note in decision["notes"]:
        print(f"- {note['code']}: {note['message']}")
    _show_regions(decision["regions"])
    _show_samples(_newest(decision["samples"]))


@app.command()
def explain(
    context: typer.Context,
    decision_id: Annotated[str, typer.Argument(metavar="ID", help="As `decisions list` shows it.")],
    as_json: JsonOption = False,
) -> None:
    """Tell what was known, what was proposed, what each guard did, and what came of it."""
    found = connect(context).get(path_of(DECISIONS, decision_id, "/explanation"))
    if as_json:
        output.emit(found)
        return
    output.table(
        ("PART", "WHO", "SAYS", "SHARES"),
        ((s["part"], s["name"], s["says"], _shares(s["shares"]) or None) for s in found["steps"]),
    )
    replay = found["replay"]
    if not replay["agrees"]:
        output.note("made again now, this decision comes out differently: see `signalbox replay`")


def _facts(decision: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield "decision", decision["id"]
    yield "time", output.when(decision["time"])
    yield "trigger", decision["trigger"]
    yield "strategy", decision["strategy"]
    yield "model", output.short(decision["model"])
    yield "outcome", decision["outcome"]
    for name in ("applied", "proposed", "decided"):
        yield name, _shares(decision[name])
    yield "revision", decision["revision"] or None
    if said := decision["interval"]:
        ends = f"{output.number(said['low_ms'])} to {output.number(said['high_ms'])} ms"
        yield "expected", f"{ends} ({said['level']:.0%} of the time)"
    if (shift := decision["dither"]) and shift["propensity"] < 1:
        drawn = f"drawn with probability {shift['propensity']:.2f}"
        yield "dither", f"{shift['offset']:+.3f} in block {shift['block']}, {drawn}"


def _curve(decision: Mapping[str, Any]) -> Iterator[str]:
    """The plot over the primary's share, with its legend; nothing for a rule without a curve."""
    points = [
        (point["ratio"], point["response_time_ms"])
        for point in decision["curve"]
        if point["response_time_ms"] is not None
    ]
    primary = next(iter(decision["decided"]), "primary")
    marks = {
        mark: decision[name].get(primary, 0.0)
        for mark, name in ((APPLIED, "applied"), (PROPOSED, "proposed"), (DECIDED, "decided"))
    }
    lines = plot(points, marks)
    if lines:
        yield ""
        yield f"predicted mean response time against the share of {primary}"
        yield from lines
        yield f"  {APPLIED} applied before, {PROPOSED} proposed, {DECIDED} decided"
        yield ""


def _newest(samples: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last one of each data centre; a decision lists its samples by time."""
    return list({sample["datacenter"]: sample for sample in samples}.values())


def _show_regions(regions: list[Mapping[str, Any]]) -> None:
    if not regions:
        return
    print()
    output.table(
        ("SOURCE REGION", "PART", "HOME", "APPLIED", "DECIDED"),
        (
            (
                r["source_region"],
                output.percent(r["weight"]),
                _shares(r["home"]),
                _shares(r["applied"]),
                _shares(r["decided"]),
            )
            for r in regions
        ),
    )


def _show_samples(samples: list[Mapping[str, Any]]) -> None:
    if not samples:
        return
    print()
    output.table(
        ("DATACENTER", "TIME", "RATE /s", "RESPONSE ms", "P99 ms", "CPU", "CPU MAX", "ERRORS"),
        (
            (
                s["datacenter"],
                output.when(s["time"]),
                output.number(s["request_rate_rps"]),
                output.number(s["response_time_ms"]),
                output.number(s["response_time_p99_ms"]),
                output.percent(s["cpu_avg"]),
                output.percent(s["cpu_max"]),
                output.percent(s["error_ratio"]),
            )
            for s in samples
        ),
    )


def _shares(shares: Mapping[str, float]) -> str:
    return " ".join(f"{center}={share:.3f}" for center, share in shares.items())
