"""How campaigns stand, for whoever asks: since when, by which file, and for which command they are paused."""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import put_back, set_aside

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

CAMPAIGN = {"paused_by": "the command that paused it until it is done; NULL: a person did, or nobody"}
LEASE = {
    "since": "when it came into this state",
    "file": "the campaign file by which its daemon runs it",
}
STATES = "running, waiting, resting, paused, done, stopped, broken, elsewhere, stalled or down"
BEFORE = "running, waiting, resting, paused, done, stopped or stalled"
MORE = "_status"


def upgrade() -> None:
    for table, key, columns in (("campaign", "id", CAMPAIGN), ("lease", "campaign", LEASE)):
        for name, comment in columns.items():
            op.add_column(table, sa.Column(name, sa.Text(), nullable=True, comment=comment))
        put_back(table, key, list(columns), more=MORE)
    _say(STATES, BEFORE)


def downgrade() -> None:
    for table, key, columns in (("campaign", "id", CAMPAIGN), ("lease", "campaign", LEASE)):
        set_aside(table, key, list(columns), " or ".join(f"{name} is not null" for name in columns), more=MORE)
        for name in columns:
            op.drop_column(table, name)
    _say(BEFORE, STATES)


def _say(states: str, before: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("lease", "state", existing_type=sa.String(16), comment=states, existing_comment=before)
