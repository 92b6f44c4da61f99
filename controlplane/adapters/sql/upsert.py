"""Inserts that know what to do with a row that is there already, per database.

SQLAlchemy has no common form; the two databases share theirs. Used by the stores.
"""

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.dml import Insert


def insert_or_keep(connection: AsyncConnection, table: Table) -> Insert:
    """An INSERT that leaves an existing row as it is."""
    return _insert(connection, table).on_conflict_do_nothing()


def insert_or_replace(connection: AsyncConnection, table: Table) -> Insert:
    """An INSERT that overwrites all columns beside the primary key of an existing row."""
    statement = _insert(connection, table)
    others = {c.name: statement.excluded[c.name] for c in table.c if not c.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=others)


def _insert(connection: AsyncConnection, table: Table) -> sqlite.Insert | postgresql.Insert:
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
