"""Samples that no decision reads are marked with the doubt about them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("samples", sa.Column("suspicion", sa.String))
