"""Jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("service", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("created_s", sa.Float, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_service_created_s", "jobs", ["service", "created_s"])
    op.create_index("ix_jobs_created_s", "jobs", ["created_s"])
