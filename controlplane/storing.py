"""The data folder of a control plane: locked, its stores opened, and swept once a day.

Called by `wiring`. One process for each folder: the lock ends with it, so a second one is refused.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from controlplane.adapters.leader import LeaderLock
from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.sql.stores import SqlStores, sqlite_url
from controlplane.domain.errors import Retryable
from controlplane.engine.patience import patiently
from controlplane.engine.retention import DAY_S, Retention, RetentionStores, RetentionTimes
from controlplane.engine.stages import Instruments
from controlplane.settings import Settings


@asynccontextmanager
async def stores_opened(
    settings: Settings, models: ModelFiles, address: str, now_s: float
) -> AsyncIterator[SqlStores]:
    """The stores, while this process holds the folder's lock; closed at the end.

    Args:
        address: where this process serves; told to a second one that is refused.

    Raises:
        Conflict: another process holds the folder.
        Retryable: `store_unavailable`, when the folder or the stores cannot be opened.
    """
    _make_data_dir(settings.data_dir)
    lock = LeaderLock(settings.data_dir / "leader.lock")
    lock.acquire(address, now_s)
    try:
        url = settings.database_url or sqlite_url(settings.data_dir / "signalbox.db")
        stores = await patiently(lambda: SqlStores.open(url, models, settings.store_timeout_s))
        try:
            yield stores
        finally:
            await stores.close()
    finally:
        lock.release()


def retention(settings: Settings, stores: SqlStores, instruments: Instruments) -> Retention:
    """What is dropped when its time is over."""
    return Retention(
        RetentionStores(
            minutes=stores.minutes,
            decisions=stores.decisions,
            jobs=stores.jobs,
            snapshots=stores.snapshots,
            intents=stores.intents,
            deliveries=stores.operations.deliveries,
            journal=stores.operations.journal,
        ),
        RetentionTimes(
            samples_s=settings.sample_retention_days * DAY_S,
            minutes_s=settings.minute_retention_days * DAY_S,
            decisions_s=settings.decision_retention_days * DAY_S,
        ),
        instruments,
    )


def _make_data_dir(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Retryable(
            "store_unavailable",
            f"the data folder {path} cannot be made ({error.strerror}): check SIGNALBOX_DATA_DIR, "
            "mount and owner",
            {"reason": "cannot_open"},
        ) from error
