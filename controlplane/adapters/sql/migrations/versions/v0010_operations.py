"""Operations: policies, scenarios, changes and the like; deliveries of webhooks; the journal."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "operations",
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", name="pk_operations"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("created_s", sa.Float, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
    )
    op.create_index("ix_deliveries_state_created_s", "deliveries", ["state", "created_s"])
    op.create_index("ix_deliveries_created_s", "deliveries", ["created_s"])
    op.create_table(
        "journal",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("time_s", sa.Float, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("subject", sa.String, nullable=False),
        sa.Column("who", sa.String, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_journal"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_journal_time_s", "journal", ["time_s"])
