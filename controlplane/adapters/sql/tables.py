"""The schema as tables of SQLAlchemy Core; rows exist in this package only.

Read by the stores and compared with the migrations by a test. Bodies are canonical bytes of the
domain's values; what is queried stands beside them in columns of its own.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

# Names for every constraint, so that a later migration can address it on any database.
METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

FLEETS = Table(
    "fleets",
    METADATA,
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)

ROUTE_REVISIONS = Table(
    "route_revisions",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("route", String, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("time_s", Float, nullable=False),
    Column("event", String, nullable=False),
    Column("author", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Index(None, "route", "number"),
    sqlite_autoincrement=True,
)

SNAPSHOTS = Table(
    "snapshots",
    METADATA,
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("version", String(64), nullable=False),
    Column("body", LargeBinary, nullable=False),
)

DECISIONS = Table(
    "decisions",
    METADATA,
    Column("id", String, primary_key=True),
    Column("service", String, nullable=False),
    Column("time_s", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "service", "time_s"),
    Index(None, "time_s"),
)

# What decisions changed, and nothing else: the history of a ratio is read from these few rows.
SPLITS = Table(
    "splits",
    METADATA,
    Column("service", String, nullable=False),
    Column("time_s", Float, nullable=False),
    Column("shares", LargeBinary, nullable=False),
    PrimaryKeyConstraint("service", "time_s"),
    sqlite_with_rowid=False,
)

# The key in this order serves `since` without sorting.
SAMPLES = Table(
    "samples",
    METADATA,
    Column("service", String, nullable=False),
    Column("time_s", Float, nullable=False),
    Column("datacenter", String, nullable=False),
    Column("received_s", Float, nullable=False),
    Column("response_time_ms", Float, nullable=False),
    Column("request_rate_rps", Float),
    Column("response_time_p99_ms", Float),
    Column("error_ratio", Float),
    Column("inflight", Float),
    Column("cpu_avg", Float),
    Column("cpu_max", Float),
    Column("memory", Float),
    Column("disk", Float),
    Column("ingress_bandwidth_bps", Float),
    Column("connections", Float),
    Column("connection_limit", Float),
    Column("pool_use", Float),
    Column("suspicion", String),
    PrimaryKeyConstraint("service", "time_s", "datacenter"),
    sqlite_with_rowid=False,
)

# What is left of samples when they are old; `time_s` is that of the newest one in the minute.
SAMPLE_MINUTES = Table(
    "sample_minutes",
    METADATA,
    Column("service", String, nullable=False),
    Column("minute", BigInteger, nullable=False),
    Column("datacenter", String, nullable=False),
    Column("samples", Integer, nullable=False),
    *(
        Column(column.name, column.type, nullable=column.nullable)
        for column in SAMPLES.c
        if column.name not in ("service", "datacenter")
    ),
    PrimaryKeyConstraint("service", "minute", "datacenter"),
    sqlite_with_rowid=False,
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("role", String, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created_s", Float, nullable=False),
    Column("expires_s", Float),
    Column("revoked_s", Float),
    Column("node", String),
    Column("group", String),
    Column("once", Boolean, nullable=False),
    UniqueConstraint("digest"),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("time_s", Float, nullable=False),
    Column("author", String, nullable=False),
    Column("action", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    sqlite_autoincrement=True,
)

# `state` stands beside the body so that unfinished ones are found without reading all.
JOBS = Table(
    "jobs",
    METADATA,
    Column("id", String, primary_key=True),
    Column("service", String, nullable=False),
    Column("state", String, nullable=False),
    Column("created_s", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "service", "created_s"),
    Index(None, "created_s"),
)

# `standing` stands beside the body so that those few are found without reading all.
INTENTS = Table(
    "intents",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("id", String, nullable=False),
    Column("change", Integer, nullable=False, index=True),
    Column("standing", Boolean, nullable=False, index=True),
    Column("body", LargeBinary, nullable=False),
    UniqueConstraint("id"),
)

# One row: the last picture.
HEALTH = Table(
    "health",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)

MODELS = Table(
    "models",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("service", String, nullable=False, index=True),
    Column("created_s", Float, nullable=False),
    Column("description", Text, nullable=False),
)

MODEL_ALIASES = Table(
    "model_aliases",
    METADATA,
    Column("service", String, nullable=False),
    Column("alias", String, nullable=False),
    Column("digest", String(64), ForeignKey(MODELS.c.digest), nullable=False),
    PrimaryKeyConstraint("service", "alias"),
)

PROMOTIONS = Table(
    "promotions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("time_s", Float, nullable=False),
    Column("service", String, nullable=False),
    Column("event", String, nullable=False),
    Column("model", String(64), ForeignKey(MODELS.c.digest), nullable=False),
    Column("before", String(64), nullable=False),
    Column("author", String, nullable=False),
    Column("reason", Text, nullable=False),
    Index(None, "service", "id"),
    sqlite_autoincrement=True,
)
