"""Intents with their present state."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "intents",
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("change", sa.Integer, nullable=False),
        sa.Column("standing", sa.Boolean, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_intents"),
        sa.UniqueConstraint("id", name="uq_intents_id"),
    )
    op.create_index("ix_intents_change", "intents", ["change"])
    op.create_index("ix_intents_standing", "intents", ["standing"])
