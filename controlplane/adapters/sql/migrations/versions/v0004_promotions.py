"""The promotion log: append-only, like the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

# The third one: REPLACE deletes a row without asking the triggers of DELETE.
GUARDS = """
CREATE TRIGGER promotions_no_update BEFORE UPDATE ON promotions
BEGIN SELECT RAISE(ABORT, 'the promotion log is append-only'); END;
CREATE TRIGGER promotions_no_delete BEFORE DELETE ON promotions
BEGIN SELECT RAISE(ABORT, 'the promotion log is append-only'); END;
CREATE TRIGGER promotions_no_replace BEFORE INSERT ON promotions
WHEN EXISTS (SELECT 1 FROM promotions WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the promotion log is append-only'); END;
"""


def upgrade() -> None:
    op.create_table(
        "promotions",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("time_s", sa.Float, nullable=False),
        sa.Column("service", sa.String, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("model", sa.String(64), nullable=False),
        sa.Column("before", sa.String(64), nullable=False),
        sa.Column("author", sa.String, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_promotions"),
        sa.ForeignKeyConstraint(["model"], ["models.digest"], name="fk_promotions_model"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_promotions_service_id", "promotions", ["service", "id"])
    if op.get_bind().dialect.name == "sqlite":
        for guard in GUARDS.strip().removesuffix("END;").split("END;"):
            op.execute(f"{guard} END")
