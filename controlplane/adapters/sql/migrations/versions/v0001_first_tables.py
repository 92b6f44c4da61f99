"""The first tables: fleets, snapshots, decisions, samples, tokens, audit, models."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# The third one: REPLACE deletes a row without asking the triggers of DELETE.
AUDIT_GUARDS = """
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
"""
READINGS = (
    "request_rate_rps",
    "response_time_p99_ms",
    "error_ratio",
    "inflight",
    "cpu_avg",
    "cpu_max",
    "memory",
    "disk",
    "ingress_bandwidth_bps",
)


def upgrade() -> None:
    _published()
    _measured()
    _access()
    _models()


def _published() -> None:
    op.create_table(
        "fleets",
        sa.Column("generation", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("generation", name="pk_fleets"),
    )
    op.create_table(
        "snapshots",
        sa.Column("revision", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("revision", name="pk_snapshots"),
    )


def _measured() -> None:
    op.create_table(
        "decisions",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("service", sa.String, nullable=False),
        sa.Column("time_s", sa.Float, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_decisions"),
    )
    op.create_index("ix_decisions_service_time_s", "decisions", ["service", "time_s"])
    op.create_index("ix_decisions_time_s", "decisions", ["time_s"])
    op.create_table(
        "splits",
        sa.Column("service", sa.String, nullable=False),
        sa.Column("time_s", sa.Float, nullable=False),
        sa.Column("shares", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("service", "time_s", name="pk_splits"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "samples",
        sa.Column("service", sa.String, nullable=False),
        sa.Column("time_s", sa.Float, nullable=False),
        sa.Column("datacenter", sa.String, nullable=False),
        sa.Column("received_s", sa.Float, nullable=False),
        sa.Column("response_time_ms", sa.Float, nullable=False),
        *(sa.Column(name, sa.Float) for name in READINGS),
        sa.PrimaryKeyConstraint("service", "time_s", "datacenter", name="pk_samples"),
        sqlite_with_rowid=False,
    )


def _access() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created_s", sa.Float, nullable=False),
        sa.Column("expires_s", sa.Float),
        sa.Column("revoked_s", sa.Float),
        sa.Column("node", sa.String),
        sa.Column("group", sa.String),
        sa.Column("once", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("digest", name="uq_tokens_digest"),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("time_s", sa.Float, nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("author", "action", "subject")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("reason", "before", "after")),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    if op.get_bind().dialect.name == "sqlite":
        for guard in AUDIT_GUARDS.strip().removesuffix("END;").split("END;"):
            op.execute(f"{guard} END")


def _models() -> None:
    op.create_table(
        "models",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("service", sa.String, nullable=False),
        sa.Column("created_s", sa.Float, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_models"),
    )
    op.create_index("ix_models_service", "models", ["service"])
    op.create_table(
        "model_aliases",
        sa.Column("service", sa.String, nullable=False),
        sa.Column("alias", sa.String, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("service", "alias", name="pk_model_aliases"),
        sa.ForeignKeyConstraint(["digest"], ["models.digest"], name="fk_model_aliases_digest"),
    )
