"""Revisions of routes: append-only, like the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

# The third one: REPLACE deletes a row without asking the triggers of DELETE.
GUARDS = """
CREATE TRIGGER route_revisions_no_update BEFORE UPDATE ON route_revisions
BEGIN SELECT RAISE(ABORT, 'revisions of routes are append-only'); END;
CREATE TRIGGER route_revisions_no_delete BEFORE DELETE ON route_revisions
BEGIN SELECT RAISE(ABORT, 'revisions of routes are append-only'); END;
CREATE TRIGGER route_revisions_no_replace BEFORE INSERT ON route_revisions
WHEN EXISTS (SELECT 1 FROM route_revisions WHERE number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'revisions of routes are append-only'); END;
"""


def upgrade() -> None:
    op.create_table(
        "route_revisions",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("route", sa.String, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("time_s", sa.Float, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("author", sa.String, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("after", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_route_revisions"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_route_revisions_route_number", "route_revisions", ["route", "number"])
    if op.get_bind().dialect.name == "sqlite":
        for guard in GUARDS.strip().removesuffix("END;").split("END;"):
            op.execute(f"{guard} END")
