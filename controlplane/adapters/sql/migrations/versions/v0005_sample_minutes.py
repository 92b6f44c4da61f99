"""Minute means outlive raw samples."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

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
    op.create_table(
        "sample_minutes",
        sa.Column("service", sa.String, nullable=False),
        sa.Column("minute", sa.BigInteger, nullable=False),
        sa.Column("datacenter", sa.String, nullable=False),
        sa.Column("samples", sa.Integer, nullable=False),
        sa.Column("time_s", sa.Float, nullable=False),
        sa.Column("received_s", sa.Float, nullable=False),
        sa.Column("response_time_ms", sa.Float, nullable=False),
        *(sa.Column(name, sa.Float) for name in READINGS),
        sa.Column("suspicion", sa.String),
        sa.PrimaryKeyConstraint("service", "minute", "datacenter", name="pk_sample_minutes"),
        sqlite_with_rowid=False,
    )
