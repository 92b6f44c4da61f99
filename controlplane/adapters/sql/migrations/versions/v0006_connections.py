"""Samples say how many connections are open, how many may be, and how full a database pool is."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

READINGS = ("connections", "connection_limit", "pool_use")


def upgrade() -> None:
    for table in ("samples", "sample_minutes"):
        for name in READINGS:
            op.add_column(table, sa.Column(name, sa.Float))
