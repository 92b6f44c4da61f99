"""Bring the schema to the newest revision, in-process, inside the caller's transaction.

Called by `stores` at every start, also when nothing is to be done. A database that a newer
version of the program has changed is refused, never changed back.
"""

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from controlplane.domain.errors import Invalid

SCRIPTS = "controlplane.adapters.sql:migrations"


def upgrade(connection: Connection) -> None:
    """Run what is missing.

    Raises:
        Invalid: the database has a revision that this version does not know.
    """
    config = Config()
    config.set_main_option("script_location", SCRIPTS)
    scripts = ScriptDirectory.from_config(config)
    current = MigrationContext.configure(connection).get_current_revision()
    if current == scripts.get_current_head():
        return
    if current is not None and current not in {s.revision for s in scripts.walk_revisions()}:
        raise Invalid(
            "store_schema_unknown",
            f"the database has schema revision {current}, this version knows up to "
            f"{scripts.get_current_head()}: start the version that wrote it, or a newer one",
            {"revision": current},
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
