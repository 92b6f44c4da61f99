"""Open the database and everything that lives in it: what wiring calls.

`await SqlStores.open(url, shelf)` creates or migrates the database and returns the stores;
`close` ends them. Only SQLite so far: PostgreSQL gets lanes of its own beside `sqlite`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from controlplane.adapters.sql.audit import SqlAuditLog
from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.database_file import open_file
from controlplane.adapters.sql.decisions import SqlDecisionStore
from controlplane.adapters.sql.fleets import SqlFleetStore
from controlplane.adapters.sql.health import SqlHealthStore
from controlplane.adapters.sql.intents import SqlIntentStore
from controlplane.adapters.sql.jobs import SqlJobStore
from controlplane.adapters.sql.minutes import SqlMinuteStore
from controlplane.adapters.sql.models import ModelShelf, SqlModelRegistry
from controlplane.adapters.sql.operations import operation_stores
from controlplane.adapters.sql.outages import translated
from controlplane.adapters.sql.samples import SqlSampleStore
from controlplane.adapters.sql.snapshots import SqlSnapshotStore
from controlplane.adapters.sql.tokens import SqlTokenStore
from controlplane.domain.errors import Invalid
from controlplane.ports.operations import OperationStores

DEADLINE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlStores:
    """The stores of one database."""

    fleets: SqlFleetStore
    snapshots: SqlSnapshotStore
    decisions: SqlDecisionStore
    samples: SqlSampleStore
    minutes: SqlMinuteStore
    tokens: SqlTokenStore
    audit: SqlAuditLog
    models: SqlModelRegistry
    jobs: SqlJobStore
    intents: SqlIntentStore
    operations: OperationStores
    health: SqlHealthStore
    database: Database

    @classmethod
    async def open(cls, url: str, shelf: ModelShelf, deadline_s: float = DEADLINE_S) -> Self:
        """Open the database of `url`, created and migrated as needed.

        Args:
            url: `sqlite+aiosqlite:////absolute/path`, percent-encoded; see `sqlite_url`.
            shelf: where the files of models are.
            deadline_s: bounds every later call, > 0.

        Raises:
            Invalid: another kind of database, or one of a newer version of this program.
            Refused: `store_lost`, the database was here before and is missing or empty now.
            Retryable: `store_unavailable`, the file cannot be opened or written.
        """
        path = _path(url)
        with translated(path.parent):
            file = open_file(path)
        database = await Database.open(file, deadline_s)
        return cls(
            fleets=SqlFleetStore(database),
            snapshots=SqlSnapshotStore(database),
            decisions=SqlDecisionStore(database),
            samples=SqlSampleStore(database),
            minutes=SqlMinuteStore(database),
            tokens=SqlTokenStore(database),
            audit=SqlAuditLog(database),
            models=SqlModelRegistry(database, shelf),
            jobs=SqlJobStore(database),
            intents=SqlIntentStore(database),
            health=SqlHealthStore(database),
            operations=operation_stores(database),
            database=database,
        )

    async def close(self) -> None:
        """End all connections; calls that come later are `store_unavailable`."""
        await self.database.close()


def sqlite_url(path: Path) -> str:
    """The URL of the embedded database in the file `path`."""
    return f"sqlite+aiosqlite:///{quote(str(path.absolute()))}"


def _path(url: str) -> Path:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise Invalid("store_url_invalid", f"the database URL cannot be read: {error}") from error
    if parsed.drivername not in {"sqlite", "sqlite+aiosqlite"} or not parsed.database:
        raise Invalid(
            "store_url_unsupported",
            f"the database URL starts with {parsed.drivername}; this version stores in a file: "
            "sqlite+aiosqlite:////absolute/path/signalbox.db",
        )
    return Path(unquote(parsed.database))
