"""What a trained version is, as flat facts for people and programs.

Called by `python -m training`; units are in the names.
"""

from models.artifact import LawRecord, ModelArtifact
from models.examination import objection

Facts = dict[str, str | int | float | bool]


def version(artifact: ModelArtifact) -> Facts:
    """Facts of a trained version: identity, provenance, laws, scores."""
    facts: Facts = {
        "service": artifact.service,
        "kind": artifact.kind,
        "digest": artifact.digest,
        "rows": artifact.provenance.rows,
        "seed": artifact.provenance.seed,
        "data_digest": artifact.provenance.data_digest,
        "code_digest": artifact.provenance.code_digest,
        "settings_digest": artifact.provenance.settings_digest,
        "ratio_low": artifact.support.ratio_low,
        "ratio_high": artifact.support.ratio_high,
    }
    for name, epoch in artifact.best_epoch.items():
        facts[f"{name}_best_epoch"] = epoch
    if artifact.examination:
        facts["examination"] = objection(artifact.examination) or "passed"
    names = artifact.centers or ("primary", "secondary")
    for name, law in zip(names, artifact.laws, strict=True):
        facts |= _law(name, law)
    return facts | artifact.scores


def _law(center: str, law: LawRecord) -> Facts:
    facts: Facts = {
        f"{center}_law_trusted": law.trusted,
        f"{center}_law_error_ratio": law.error_ratio,
        f"{center}_base_ms": law.base_ms,
        f"{center}_contention": law.contention,
        f"{center}_wait_ms": law.wait_ms,
        f"{center}_servers": law.servers,
        f"{center}_saturation": law.saturation,
        f"{center}_idle_cpu": law.idle_cpu,
        f"{center}_full_cpu": law.full_cpu,
    }
    if law.reason:
        facts[f"{center}_law_reason"] = law.reason
    return facts
