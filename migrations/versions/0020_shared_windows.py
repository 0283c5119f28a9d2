"""A request notes the server's clock and the windows that it opens: processes that share a token count by that."""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import put_back, set_aside

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

CLOCK = "clock of the PostgreSQL server when it was reserved, Unix seconds; NULL: no other process was to know"
OPENS = "JSON list: places of the rate-limit windows that it opens, among those of its token; NULL: none"


def upgrade() -> None:
    op.add_column("request", sa.Column("clock", sa.Float(), nullable=True, comment=CLOCK))
    op.add_column("request", sa.Column("opens", sa.Text(), nullable=True, comment=OPENS))
    put_back("request", "id", ("clock", "opens"), more="_clock")


def downgrade() -> None:
    set_aside("request", "id", ("clock", "opens"), "clock is not null", more="_clock")
    for name in ("opens", "clock"):
        op.drop_column("request", name)
