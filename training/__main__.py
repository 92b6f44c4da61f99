"""`python -m training`: simulate or import a data set, train a version, show one, backtest.

Started by `signalbox simulate`, `backtest`, `dataset import` and `models train` as a process of its
own, so that serving never loads torch. Results go to standard output (`--json`: one JSON line),
progress and errors to standard error. Exit codes as docs/cli.md: 2 for input to be corrected,
5 refused, 6 for a source that is away, 130 interrupted.
"""

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from controlplane.domain.errors import Invalid
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.domain.services import StrategyName
from models import storage
from models.artifact import ModelArtifact
from models.errors import ArtifactError
from models.reports import document, keeping, sheet
from training import dataset, display, ending, making, report, whole_file
from training.learning.settings import SETTINGS, TrainingSettings
from training.simulation import arrivals, outputs, weather, world
from training.simulation.arrivals import DAY_MINUTES

app = typer.Typer(
    name="training",
    help="Simulate data with known truth, import real metrics, train a service's model, show one.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="One JSON line on standard output.")]
Amounts = Annotated[str | None, typer.Option(metavar="PRIMARY,SECONDARY,...")]


@app.command()
def simulate(
    out: Annotated[Path, typer.Option(help="Data set to write (CSV).")],
    days: Annotated[float, typer.Option(help="Length of the run.", min=0.01, max=366)] = 31.0,
    seed: Annotated[int, typer.Option(help="Same seed, same rows.", min=0)] = 0,
    world_name: Annotated[
        str, typer.Option("--world", help="W1 to W9, W1x4, or a .toml file.")
    ] = "W1",
    truth_out: Annotated[
        Path | None, typer.Option("--truth", help="Best split of every minute (CSV).")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Real arrivals: CSV with a count per minute.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate data centres under the historical shares; one row a minute, nothing removed."""
    place = world.load_world(world_name)
    whole_file.check_places(out, truth_out, read=(*_world_files((world_name,)), trace))
    # The last minute only gives the label of the row before it.
    minutes = round(days * DAY_MINUTES) + 1
    arrival_rps = arrivals.for_run(trace, place.arrivals.peak_rps, minutes)
    drawn = weather.draw(place, minutes, seed, arrival_rps)
    shares = weather.operator_shares(place, minutes, seed)
    facts = outputs.write(outputs.Run(world=place, weather=drawn, shares=shares), out, truth_out)
    _print({**facts, "out": str(out)}, as_json)


@app.command(name="import")
def import_data(
    mapping: Annotated[Path, typer.Argument(help="Which column or query is what (TOML).")],
    out: Annotated[Path, typer.Option(help="Data set to write (CSV).")],
    url: Annotated[
        str | None, typer.Option(help="Prometheus to ask, in place of the mapping's.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a data set of real metrics: CSV files, or range data of a Prometheus.

    What was left out is told on standard error, with its place and reason; the rest counts.
    """
    from training.importers import importing, mapping_file, progress

    told = mapping_file.read_mapping(mapping, url)
    whole_file.check_places(out, read=(mapping, *told.files))
    with progress.shown() as tell:
        imported = importing.import_rows(told, tell)
    importing.write(imported.dataset, out)
    for finding in imported.account.examples:
        words = f"{finding.place}: {finding.reason}: {finding.message}"
        print(display.plain(words), file=sys.stderr)
    _print({**importing.facts(imported), "out": str(out)}, as_json)


@app.command()
def train(
    data: Annotated[Path, typer.Option(help="Data set (CSV), see `simulate`.")],
    service: Annotated[str, typer.Option(help="Service that the version is for.")],
    out: Annotated[Path, typer.Option(help="Directory for model.json and model.npz.")],
    settings: Annotated[str, typer.Option(help="paper, residual or quick.")] = "paper",
    seed: Annotated[
        int, typer.Option(help="Same data, settings, seed: same digest.", min=0, max=2**53)
    ] = 0,
    servers: Amounts = None,
    idle_cpu: Amounts = None,
    full_cpu: Amounts = None,
    day_s: Annotated[
        float, typer.Option(help="Length of a day; less where time is scaled.", min=0.001)
    ] = 86_400.0,
    strategy: Annotated[
        StrategyName, typer.Option(help="That will ask the version, for its examination.")
    ] = StrategyName.HYBRID,
    leashed: Annotated[
        bool, typer.Option("--leashed", help="End when standard input ends: with its parent.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit the queue laws and train the networks of one service.

    --servers, --idle-cpu and --full-cpu are what the fleet declares; left out, they are fitted.
    A data set that names its centers, two or more, gets a queue law for each and no network.
    """
    whole_file.check_folder(out)
    order = making.Order(
        data=data,
        service=service,
        settings=_settings(settings),
        seed=seed,
        created_at_s=time.time(),
        servers=servers,
        idle_cpu=idle_cpu,
        full_cpu=full_cpu,
        day_s=day_s,
        strategy=strategy,
    )
    if leashed:
        ending.with_parent()
    made = making.make(order, out)
    _print({**report.version(made.artifact), "out": str(out), "seconds": made.seconds}, as_json)


@app.command()
def backtest(
    strategies: Annotated[
        str, typer.Option(help="Labels with commas; NAME:bare is without envelope, NAME:dither.")
    ] = "cpu_equalizer,observed_laws,hybrid",
    worlds: Annotated[str, typer.Option(help="Names or .toml files, with commas.")] = "W1",
    days: Annotated[int, typer.Option(help="Length of each run.", min=1, max=366)] = 14,
    seeds: Annotated[int, typer.Option(help="Weathers of each world.", min=1, max=1000)] = 3,
    processes: Annotated[int, typer.Option(help="At once; 0 is one per core.", min=0)] = 0,
    settings: Annotated[
        str, typer.Option(help="Of the training; left out, what the strategies need.")
    ] = "",
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Scores, plan and digest.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Report with plots.")] = None,
) -> None:
    """Let strategies close the loop in worlds whose best split is known.

    Each world is learned from for a month, then played under common random numbers behind the
    control plane's own envelope, and compared with held ratios and a clairvoyant.
    """
    if settings:
        _settings(settings)
    from training.backtest import page, progress, result
    from training.backtest.tournament import Plan, run

    places = _names(worlds)
    whole_file.check_places(json_out, html, read=_world_files(places))
    plan = Plan(
        contestants=_names(strategies),
        worlds=places,
        days=days,
        seeds=seeds,
        processes=processes,
        settings=settings,
    )
    started_s = time.monotonic()
    with progress.shown() as tell:
        played = run(plan, tell)
    print(display.plain(result.table(played.scores)))
    content = result.document(plan, played, (time.monotonic() - started_s) / 60.0)
    if json_out is not None:
        result.write_json(content, json_out)
    if html is not None:
        page.write(plan, played, html)


@app.command()
def show(
    directory: Annotated[Path, typer.Argument(help="Directory that `train --out` wrote.")],
    as_json: AsJson = False,
) -> None:
    """Check a trained version and show what it is."""
    _print(report.version(_loaded(directory)), as_json)


@app.command("report")
def write_report(
    directory: Annotated[Path, typer.Argument(help="Directory that `train --out` wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="Page to write; report.html in the directory if left out.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Data set of the training (CSV): measure again.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of a trained version as one HTML file that needs no network."""
    artifact = _loaded(directory)
    page = directory / "report.html" if out is None else out
    whole_file.check_places(page, read=(data, *keeping.files_of(directory)))
    if data is not None:
        from training.reports import measuring

        settings = _settings(artifact.kind)
        measured = measuring.measure(dataset.read_csv(data), artifact, settings)
        keeping.save(measured, directory)
    try:
        found = keeping.load(directory, artifact.digest)
        content = document.of_one(sheet.sheet(artifact, found))
        text = document.page(f"{artifact.service} {artifact.digest[:12]}", content)
        with whole_file.whole(page) as place:
            place.write_text(text, encoding="utf-8")
    except ArtifactError as error:
        raise Invalid("report_invalid", str(error)) from error
    _print({"digest": artifact.digest, "measured": found is not None, "out": str(page)}, as_json)


def main() -> None:
    """Run the command line; SIGTERM stops a training like Ctrl-C."""
    ending.run(app)


def _loaded(directory: Path) -> ModelArtifact:
    try:
        return storage.load(directory, SCHEMA_DIGEST)
    except ArtifactError as error:
        raise Invalid("model_invalid", str(error)) from error


def _settings(name: str) -> TrainingSettings:
    if name not in SETTINGS:
        raise Invalid("settings_unknown", f"no settings {name!r}: use one of {', '.join(SETTINGS)}")
    return SETTINGS[name]


def _names(text: str) -> tuple[str, ...]:
    """Read "a,b": each once, in that order."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _world_files(worlds: tuple[str, ...]) -> tuple[Path, ...]:
    """Those of them that are files."""
    return tuple(Path(name) for name in worlds if name.endswith(".toml"))


def _print(facts: report.Facts, as_json: bool) -> None:
    if as_json:
        print(json.dumps(facts))
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        told = f"{value:.6g}" if isinstance(value, float) else str(value)
        print(display.plain(f"{name:<{width}}  {told}"))


if __name__ == "__main__":
    main()
