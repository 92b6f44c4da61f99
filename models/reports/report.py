"""The report of one version: what training measured on the rows, small enough to keep.

`training.reports` makes it, because only training has the rows; `encoding` turns it to JSON and
back. It is no part of the model's digest, and names the model that it is about. Residuals are
relative: actual / predicted - 1, without unit; `held` rows are those no network was trained on.
"""

from dataclasses import dataclass

Numbers = tuple[float, ...]

# Strategies whose predictions can decide, each with a sentence in the card; "" answered for no row.
DECIDERS = ("hybrid", "greybox", "projected_mlp", "paper_mlp", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """The data set.

    Attributes:
        first_s, last_s: UTC epoch seconds of the first and the last row.
        load_unit: what load is measured in, `requests/s` or `bit/s`.
        load_quantiles, ratio_quantiles: at 0, 5, 50, 95 and 100 % of the rows.
        missing: column -> share of rows without a value, 0..1, columns that lack any only.
    """

    rows: int
    first_s: float
    last_s: float
    load_unit: str
    load_quantiles: Numbers
    ratio_quantiles: Numbers
    missing: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Held rows, thinned evenly in time: predicted and actual response time, in ms."""

    predicted_ms: Numbers
    actual_ms: Numbers

    def __post_init__(self) -> None:
        """Refuse columns of different length."""
        _same_length(self.predicted_ms, self.actual_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Residuals of the held rows in bins along one axis.

    Attributes:
        at: middle of each bin, in the unit of the axis; rows: how many it has.
        low, median, high: 5 %, 50 % and 95 % quantile of the residuals in it.
    """

    at: Numbers
    rows: tuple[int, ...]
    low: Numbers
    median: Numbers
    high: Numbers

    def __post_init__(self) -> None:
        """Refuse columns of different length."""
        _same_length(self.at, self.rows, self.low, self.median, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Residuals:
    """The same residuals along three axes: time (UTC epoch seconds), load, and ratio (0..1)."""

    by_time: Spread
    by_load: Spread
    by_ratio: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class BandScores:
    """Errors on the held rows of one load band; `all` is every row.

    Attributes:
        bias_ms: mean of predicted - actual; q95_ms: 95 % quantile of the absolute error.
        r2: share of the variance explained; None where the actual values do not vary.
        coverage: share of rows inside the 90 % interval, 0..1, on rows that did not calibrate it;
            None where there are too few.
    """

    band: str
    rows: int
    mae_ms: float
    bias_ms: float
    mape_pct: float
    q95_ms: float
    r2: float | None
    coverage: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Calibration: intervals from every other stretch of held rows, judged on the others.

    Attributes:
        rows: judged rows.
        nominal: share of rows that each interval should hold, 0..1; observed: that it did.
    """

    rows: int
    nominal: Numbers
    observed: Numbers

    def __post_init__(self) -> None:
        """Refuse columns of different length."""
        _same_length(self.nominal, self.observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """How well one strategy's prediction fits the rows, at the ratio that was applied.

    Attributes:
        name: of the strategy: `hybrid`, `greybox`, `projected_mlp` or `paper_mlp`.
        laws_saw_rows: whether its queue laws were fitted on the held rows, too.
        coverage: None with too few held rows.
    """

    name: str
    laws_saw_rows: bool
    scores: tuple[BandScores, ...]
    points: Points
    residuals: Residuals
    coverage: Coverage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Response time against ratio by one strategy, along the report's ratios.

    Attributes:
        predicted_ms: median over the rows of the scene.
        low_ms, high_ms: the 90 % interval, from the residuals in the load band; () is unknown.
        chosen: the ratio with the smallest prediction, before any guardrail.
    """

    strategy: str
    predicted_ms: Numbers
    low_ms: Numbers
    high_ms: Numbers
    chosen: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One load band: what each strategy expects of every ratio, and what was observed.

    Attributes:
        load: mean load of the rows; current: their median applied ratio, 0..1.
        observed_ratio, observed_ms: rows of the band, thinned.
    """

    band: str
    load: float
    rows: int
    current: float
    observed_ratio: Numbers
    observed_ms: Numbers
    curves: tuple[Curve, ...]

    def __post_init__(self) -> None:
        """Refuse columns of different length."""
        _same_length(self.observed_ratio, self.observed_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFigure:
    """The fitted queue law of one data center against its own rows.

    Attributes:
        center: `primary` or `secondary`.
        use, fitted_ms: the law along utilization (0 at idle, 1 at saturation).
        observed_use, observed_ms: rows, thinned evenly in time.
    """

    center: str
    use: Numbers
    fitted_ms: Numbers
    observed_use: Numbers
    observed_ms: Numbers

    def __post_init__(self) -> None:
        """Refuse columns of different length."""
        _same_length(self.use, self.fitted_ms)
        _same_length(self.observed_use, self.observed_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was measured about one version.

    Attributes:
        model: digest of the version.
        settings: named training settings, such as `mlp.epochs`.
        decides: the strategy whose predictions would decide; predictors has it first.
        ratios: the candidates, 0..1, that every curve runs along.
    """

    model: str
    decides: str
    data: DataFacts
    settings: dict[str, str | float]
    ratios: Numbers
    predictors: tuple[Predictor, ...]
    scenes: tuple[Scene, ...]
    laws: tuple[LawFigure, ...]

    def __post_init__(self) -> None:
        """Refuse an unknown strategy, and curves that do not run along the ratios."""
        if self.decides not in DECIDERS:
            raise ValueError(f"{self.decides[:40]!r} decides; known are {', '.join(DECIDERS[:-1])}")
        for scene in self.scenes:
            for curve in scene.curves:
                _same_length(self.ratios, curve.predicted_ms)
                _same_length(curve.low_ms, curve.high_ms)


def _same_length(*columns: tuple[float, ...] | tuple[int, ...]) -> None:
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"columns have lengths {[len(column) for column in columns]}")
