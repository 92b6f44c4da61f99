"""Joins what makes models: the shelf of their files, the queue of trainings, and who asks for them.

Called by `wiring`.
"""

from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.predictor import learned
from controlplane.adapters.sql.stores import SqlStores
from controlplane.adapters.trainer import ProcessTrainer
from controlplane.api.dependencies import ApiServices
from controlplane.domain.retraining import scaled as scaled_retraining
from controlplane.engine.cadence import scaled as scaled_cadence
from controlplane.engine.learning.jobs import JobParts, Jobs
from controlplane.engine.learning.retraining import Retraining, RetrainingParts
from controlplane.engine.learning.workshop import Workshop, WorkshopParts, WorkshopRules
from controlplane.engine.reconciling.loop import LoopParts
from controlplane.engine.samples.history import History
from controlplane.engine.stages import Instruments
from controlplane.settings import Settings


def shelf(settings: Settings) -> ModelFiles:
    """Where the files of models are."""
    return ModelFiles(settings.data_dir / "models", learned)


def jobs(settings: Settings, stores: SqlStores, parts: LoopParts, instruments: Instruments) -> Jobs:
    """The queue, and the workshop that does one training after the other."""
    cadence = scaled_cadence(settings.cadence, settings.time_scale)
    limits = scaled_retraining(settings.retraining, settings.time_scale)
    workshop = Workshop(
        WorkshopParts(
            fleets=parts.fleets,
            samples=History(stores.minutes, stores.samples),
            decisions=stores.decisions,
            jobs=stores.jobs,
            trainer=ProcessTrainer(settings.data_dir / "training", settings.training_deadline_s),
            models=parts.models,
        ),
        WorkshopRules(
            settings=settings.training_settings,
            period_s=cadence.period_s,
            day_s=cadence.day_s,
            newest_s=limits.newest_s,
            kept=limits.kept,
        ),
    )
    return Jobs(JobParts(store=stores.jobs, audit=stores.audit, workshop=workshop), instruments)


def retraining(services: ApiServices, settings: Settings) -> Retraining:
    """Who asks for trainings that are due."""
    return Retraining(
        RetrainingParts(
            fleets=services.fleets,
            jobs=services.jobs,
            models=services.models,
            samples=services.samples,
            decisions=lambda: services.loop.decisions,
        ),
        scaled_retraining(settings.retraining, settings.time_scale),
        services.instruments,
    )
