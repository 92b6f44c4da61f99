"""A small report of a version, and sheets in memory, for tests of what keeps and shows reports."""

from dataclasses import dataclass, field

from controlplane.domain.errors import Invalid
from models.artifact import ModelArtifact
from models.reports.report import (
    BandScores,
    Coverage,
    Curve,
    DataFacts,
    LawFigure,
    Points,
    Predictor,
    Report,
    Residuals,
    Scene,
    Spread,
)

RATIOS = (0.2, 0.5, 0.8)


def report(artifact: ModelArtifact, shift_ms: float = 0.0) -> Report:
    """Two strategies and two load bands; `shift_ms` makes another one."""
    return Report(
        model=artifact.digest,
        decides="hybrid",
        data=DataFacts(
            rows=100,
            first_s=1.7e9,
            last_s=1.7e9 + 5940.0,
            load_unit="requests/s",
            load_quantiles=(10.0, 20.0, 50.0, 90.0, 100.0),
            ratio_quantiles=(0.3, 0.4, 0.5, 0.6, 0.7),
            missing={"primary_memory": 0.25},
        ),
        settings={"name": "quick", "mlp.epochs": 150.0, "mlp.keep": "best"},
        ratios=RATIOS,
        predictors=(predictor("hybrid", shift_ms), predictor("paper_mlp", shift_ms + 2.0)),
        scenes=(scene("low", 20.0, shift_ms), scene("peak", 95.0, shift_ms + 50.0)),
        laws=(
            LawFigure(
                center="primary",
                use=(0.0, 0.5, 1.0),
                fitted_ms=(20.0, 25.0, 90.0),
                observed_use=(0.3, 0.6),
                observed_ms=(22.0, 28.0),
            ),
        ),
    )


def predictor(name: str, shift_ms: float) -> Predictor:
    spread = Spread(
        at=(0.4, 0.5, 0.6),
        rows=(3, 4, 3),
        low=(-0.1, -0.05, -0.1),
        median=(0.0, 0.01, 0.0),
        high=(0.1, 0.06, 0.2),
    )
    by_time = Spread(
        at=(1.7e9, 1.7e9 + 300.0), rows=(5, 5), low=(-0.1, -0.1), median=(0.0, 0.0), high=(0.1, 0.1)
    )
    return Predictor(
        name=name,
        laws_saw_rows=name == "hybrid",
        scores=(scores("all", 10, shift_ms), scores("peak", 2, shift_ms)),
        points=Points(predicted_ms=(30.0 + shift_ms, 40.0, 60.0), actual_ms=(31.0, 39.0, 65.0)),
        residuals=Residuals(by_time=by_time, by_load=spread, by_ratio=spread),
        coverage=Coverage(rows=40, nominal=(0.5, 0.9), observed=(0.48, 0.91)),
    )


def scores(band: str, rows: int, shift_ms: float) -> BandScores:
    return BandScores(
        band=band,
        rows=rows,
        mae_ms=1.5 + shift_ms,
        bias_ms=-0.2,
        mape_pct=3.0,
        q95_ms=4.0,
        r2=0.9 if band == "all" else None,
        coverage=0.9 if band == "all" else None,
    )


def scene(band: str, load: float, shift_ms: float) -> Scene:
    hybrid = Curve(
        strategy="hybrid",
        predicted_ms=(60.0 + shift_ms, 30.0 + shift_ms, 50.0),
        low_ms=(55.0, 28.0, 45.0),
        high_ms=(66.0 + shift_ms, 33.0 + shift_ms, 56.0),
        chosen=0.5,
    )
    paper = Curve(
        strategy="paper_mlp", predicted_ms=(50.0, 33.0, 31.0), low_ms=(), high_ms=(), chosen=0.8
    )
    return Scene(
        band=band,
        load=load,
        rows=25,
        current=0.52,
        observed_ratio=(0.45, 0.55),
        observed_ms=(32.0, 33.0),
        curves=(hybrid, paper),
    )


@dataclass(slots=True)
class MemoryModelReports:
    """Sheets as JSON text, by digest."""

    sheets: dict[str, str] = field(default_factory=dict)

    async def sheet(self, digest: str) -> str:
        if digest not in self.sheets:
            raise Invalid("model_damaged", f"the files of model {digest[:12]} are gone")
        return self.sheets[digest]
