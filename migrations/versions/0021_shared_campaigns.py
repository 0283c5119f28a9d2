"""Daemons share the campaigns of a server: each one says how much it can do, and which campaigns it can run."""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import put_back, set_aside

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

COLUMNS = {
    "weight": (sa.Float(), "its share of the campaigns, relative to other daemons"),
    "campaigns": (sa.Text(), "names of the campaigns that it can run, as JSON; NULL: none"),
}
MORE = "_shared"


def upgrade() -> None:
    for name, (kind, comment) in COLUMNS.items():
        op.add_column("daemon", sa.Column(name, kind, nullable=True, comment=comment))
    put_back("daemon", "id", list(COLUMNS), more=MORE)


def downgrade() -> None:
    set_aside("daemon", "id", list(COLUMNS), "campaigns is not null", more=MORE)
    for name in COLUMNS:
        op.drop_column("daemon", name)
