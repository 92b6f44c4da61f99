"""The tables of operations, beside `tables`: items of several kinds, deliveries, the journal."""

from sqlalchemy import (
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from controlplane.adapters.sql.tables import METADATA

OPERATIONS = Table(
    "operations",
    METADATA,
    Column("kind", String, nullable=False),
    Column("name", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("kind", "name"),
    sqlite_with_rowid=False,
)

# `state` stands beside the body so that what waits, and what is dead, is found without reading all.
DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("id", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("created_s", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "state", "created_s"),
    Index(None, "created_s"),
)

JOURNAL = Table(
    "journal",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("time_s", Float, nullable=False),
    Column("kind", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("who", String, nullable=False),
    Column("what", Text, nullable=False),
    Index(None, "time_s"),
    sqlite_autoincrement=True,
)
