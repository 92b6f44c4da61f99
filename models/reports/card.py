"""The model card: what a version is for, what it was made from, how good it is, and its limits.

Made from a sheet, after Mitchell et al., Model Cards for Model Reporting (2019). Sections are
plain values, so that the page draws them and `markdown` prints them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from models.artifact import Json

Row = tuple[str, ...]

_ROLES = {
    "hybrid": "the queue laws, corrected by the residual networks by at most 5 %",
    "greybox": "the queue laws alone",
    "projected_mlp": "the network, asked about the state that each ratio would bring about",
    "paper_mlp": "the network, with all metrics held still (the published form)",
    "": "nothing: it answered for no row",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a card: paragraphs, then a table; no columns is no table."""

    title: str
    text: tuple[str, ...] = ()
    columns: Row = ()
    rows: tuple[Row, ...] = ()


def card(sheet: Json) -> tuple[Section, ...]:
    """The sections of a card."""
    parts = (_purpose, _data, _making, _laws, _scores, _intervals, _examination, _limits, _way_back)
    return tuple(part(sheet) for part in parts)


def markdown(sheet: Json) -> str:
    """The card as Markdown."""
    model = sheet["model"]
    lines = [f"# Model card: {model['service']} {model['digest'][:12]}"]
    for section in card(sheet):
        lines += ["", f"## {section.title}"]
        for paragraph in section.text:
            lines += ["", paragraph]
        lines += _table(section)
    return "\n".join([*lines, ""])


def _table(section: Section) -> Iterator[str]:
    if section.columns:
        yield ""
        for row in (section.columns, ("---",) * len(section.columns), *section.rows):
            yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"


def _purpose(sheet: Json) -> Section:
    model, networks = sheet["model"], sheet["networks"]
    made = [f"{networks['residual']} residual network(s)"] * bool(networks["residual"])
    made += ["the 14-64-32-1 network"] * bool(networks["mlp"])
    return Section(
        title="Purpose",
        text=(
            f"Predicts the mean response time of the service {model['service']} over the next "
            f"five minutes for each split of its traffic between {len(sheet['laws'])} data "
            "centers. It proposes; the guardrails decide what reaches a proxy. It is made for "
            "this service only, and says nothing about single requests, tails, or other data "
            "centers.",
            f"Digest {model['digest']}, trained with the settings {model['kind']} at "
            f"{_time(model['created_at_s'])}: a queue law for each data center"
            f"{''.join(f', {part}' for part in made)}.",
        ),
    )


def _data(sheet: Json) -> Section:
    provenance, report = sheet["provenance"], sheet["report"]
    known = f"{provenance['rows']} rows, digest {provenance['data_digest']}."
    if report is None:
        return Section(title="Data", text=(known,))
    data = report["data"]
    rows = [("ratio", *(f"{value:.3f}" for value in data["ratio_quantiles"]))]
    if data["load_quantiles"]:
        rows += [(f"load, {data['load_unit']}", *(f"{v:.4g}" for v in data["load_quantiles"]))]
    lacking = ", ".join(f"{name} ({share:.1%})" for name, share in data["missing"].items())
    return Section(
        title="Data",
        text=(
            f"{known} From {_time(data['first_s'])} to {_time(data['last_s'])}.",
            f"Missing values: {lacking or 'none'}.",
        ),
        columns=("quantile", "0 %", "5 %", "50 %", "95 %", "100 %"),
        rows=tuple(rows),
    )


def _making(sheet: Json) -> Section:
    provenance, report = sheet["provenance"], sheet["report"]
    epochs = ", ".join(f"{name} {epoch}" for name, epoch in sheet["best_epoch"].items())
    versions = ", ".join(f"{k} {v}" for k, v in sheet["model"]["environment"].items())
    settings = report["settings"] if report is not None else {}
    return Section(
        title="How it was made",
        text=(
            f"Seed {provenance['seed']}, code {provenance['code_digest']}, settings "
            f"{provenance['settings_digest']}, features {provenance['schema_digest']}. The same "
            "data, settings, seed and code give the same digest on one machine.",
            f"Best epoch by validation loss: {epochs or 'no network'}.",
            f"Trained with {versions or 'versions that were not recorded'}.",
        ),
        columns=("setting", "value") if settings else (),
        rows=tuple((name, _plain(value)) for name, value in settings.items() if name != "name"),
    )


def _laws(sheet: Json) -> Section:
    laws = sheet["laws"]
    names = ("base_ms", "contention", "wait_ms", "servers", "saturation", "idle_cpu", "full_cpu")
    rows = [(name, *(f"{law[name]:.4g}" for law in laws.values())) for name in names]
    rows += [("error_pct", *(f"{100 * law['error_ratio']:.1f}" for law in laws.values()))]
    rows += [("trusted", *("yes" if law["trusted"] else "no" for law in laws.values()))]
    reasons = [f"{name}: {law['reason']}" for name, law in laws.items() if law["reason"]]
    return Section(
        title="Queue laws",
        text=("Not trusted: " + "; ".join(reasons) + ".",) if reasons else (),
        columns=("", *laws),
        rows=tuple(rows),
    )


def _scores(sheet: Json) -> Section:
    report = sheet["report"]
    if report is None:
        rows = tuple((name, f"{value:.4g}") for name, value in sheet["scores"].items())
        return Section(title="Scores", columns=("score", "value"), rows=rows)
    columns = ("strategy", "load", "rows", "MAE ms", "bias ms", "MAPE %", "95 % error ms", "R2")
    rows = tuple(
        (
            predictor["name"],
            band["band"],
            str(band["rows"]),
            *(f"{band[name]:.3g}" for name in ("mae_ms", "bias_ms", "mape_pct", "q95_ms")),
            "" if band["r2"] is None else f"{band['r2']:.3f}",
        )
        for predictor in report["predictors"]
        for band in predictor["scores"]
    )
    return Section(
        title="Scores on held-out rows",
        text=(
            f"Shown first, and deciding where the service's strategy asks for it: "
            f"{_ROLES[report['decides']]}. Load bands: the lowest quarter of the rows, the middle "
            "half, up to 95 %, and the busiest twentieth. Queue laws are fitted on all rows, so "
            "their errors are not quite those of new ones.",
            "A small error of prediction does not make a good choice: strategies are judged by "
            "their decisions, in the backtest.",
        ),
        columns=columns,
        rows=rows,
    )


def _intervals(sheet: Json) -> Section:
    report = sheet["report"]
    spread = sheet["scores"].get("residual_spread")
    text = () if spread is None else (f"Residual spread, frozen with the version: {spread:.2%}.",)
    if report is None:
        return Section(title="Intervals", text=text)
    rows = tuple(
        (predictor["name"], f"{nominal:.0%}", f"{observed:.1%}", str(coverage["rows"]))
        for predictor in report["predictors"][:1]
        if (coverage := predictor["coverage"]) is not None
        for nominal, observed in zip(coverage["nominal"], coverage["observed"], strict=True)
    )
    return Section(
        title="Intervals",
        text=(
            *text,
            "Coverage of split conformal intervals by load band, on held-out rows that did not "
            "calibrate them. In service the interval is calibrated again with every cycle.",
        ),
        columns=("strategy", "nominal", "observed", "rows"),
        rows=rows,
    )


def _examination(sheet: Json) -> Section:
    checks = sheet["examination"]
    failed = [check for check in checks if not check["passed"]]
    words = "It failed, so it is not put into the shadow." if failed else "It passed every check."
    return Section(
        title="Examination",
        text=(words if checks else "It was not examined.",),
        columns=("check", "verdict", "figure", "limit", "words") if checks else (),
        rows=tuple(
            (
                check["code"],
                "passed" if check["passed"] else "failed",
                f"{check['figure']:.4g}",
                f"{check['limit']:.4g}",
                check["message"],
            )
            for check in checks
        ),
    )


def _limits(sheet: Json) -> Section:
    support = sheet["support"]
    distrusted = not all(law["trusted"] for law in sheet["laws"].values())
    return Section(
        title="Limits",
        text=(
            f"Ratios from {support['ratio_low']:.3f} to {support['ratio_high']:.3f} were seen "
            "(1 % to 99 % of the rows); beyond them networks only guess, and the guardrails keep "
            "them inside. Beyond the range of its inputs the residual network is not used.",
            *(
                ("The queue laws are not trusted, so hybrid and greybox fall back to a rule.",)
                if distrusted
                else ()
            ),
            "It knows its data centers as they were when the rows were taken. A change of "
            "machines, code or work makes it old; drift is watched.",
            *sheet["missing"],
        ),
    )


def _way_back(sheet: Json) -> Section:
    model = sheet["model"]
    service, short = model["service"], model["digest"][:12]
    return Section(
        title="Promotion and the way back",
        text=(
            f"`signalbox models promote {service} {short}` puts it in service, `signalbox models "
            f"rollback {service}` brings the champion before it back, both from the next cycle "
            f"on. `signalbox models promotions {service}` shows who did what, and why.",
        ),
    )


def _time(time_s: float) -> str:
    """A date; the bare number where no calendar has one."""
    try:
        return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"{time_s:g} s"


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
