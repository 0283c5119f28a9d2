"""Campaigns that run for weeks: versions of their settings, shadow estimators, daemons and their leases."""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import put_back, put_rows_back, set_aside, set_table_aside

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

Count = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
OWN = ["refresh_rate", "paused_at"]
VERSION = ("campaign", "number", "at", "first", "settings", "changed")
SHADOW = ("campaign", "n", "estimator", "score")
DAEMON = ("id", "host", "pid", "began_at", "beat_at", "stop_at", "ended_at")
LEASE = ("campaign", "daemon", "taken_at", "beat_at", "released_at", "state", "why", "until", "moved_at")
RESTS = "JSON of the settings that its history rests on"
WHY = "begun, or what changed: topic, seeds, crawl, accounts, forget, retain"
OLD_WHY = "begun, or what changed the history: forget, retain"


def upgrade() -> None:
    op.add_column(
        "campaign",
        sa.Column(
            "refresh_rate",
            Count,
            nullable=True,
            comment="r as it was chosen, where the campaign file says auto; NULL: it does not",
        ),
    )
    paused = "when somebody paused it; NULL: a daemon may run it"
    op.add_column("campaign", sa.Column("paused_at", sa.Text(), nullable=True, comment=paused))
    put_back("campaign", "id", OWN)
    if op.get_bind().dialect.name == "postgresql":
        _say(f"{RESTS}, as they are now", RESTS, WHY, OLD_WHY)
    _version()
    _shadow()
    _daemon()
    _lease()


def downgrade() -> None:
    for name in ("lease", "daemon", "shadow", "version"):
        set_table_aside(name)
    set_aside("campaign", "id", OWN, "refresh_rate is not null or paused_at is not null")
    for name in OWN:
        op.drop_column("campaign", name)
    if op.get_bind().dialect.name == "postgresql":
        _say(RESTS, f"{RESTS}, as they are now", OLD_WHY, WHY)


def _say(rests: str, before: str, why: str, why_before: str) -> None:
    op.alter_column("campaign", "identity", existing_type=sa.Text(), comment=rests, existing_comment=before)
    op.alter_column("epoch", "why", existing_type=sa.Text(), comment=why, existing_comment=why_before)


def _version() -> None:
    """Create the versions; an existing campaign has had one so far."""
    op.create_table(
        "version",
        sa.Column("campaign", Count, nullable=False, comment="campaign.id"),
        sa.Column("number", Count, nullable=False, comment="0 as it was begun, 1, 2, ..."),
        sa.Column("at", sa.Text(), nullable=False, comment="when it came into force"),
        sa.Column("first", Count, nullable=False, comment="pick.n from which on it is in force"),
        sa.Column("settings", sa.Text(), nullable=False, comment="JSON of the settings, without secrets"),
        sa.Column(
            "changed", sa.Text(), nullable=False, comment="JSON list of the settings that changed, as topic.keywords"
        ),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.id"], name=op.f("fk_version_campaign")),
        sa.PrimaryKeyConstraint("campaign", "number", name=op.f("pk_version")),
        comment="the settings of a campaign, each time they changed",
        sqlite_with_rowid=False,
    )
    put_rows_back("version", "version", VERSION)
    op.execute(
        "insert into version (campaign, number, at, first, settings, changed) "
        "select id, 0, created_at, 0, settings, '[]' from campaign where true on conflict do nothing"
    )


def _shadow() -> None:
    op.create_table(
        "shadow",
        sa.Column("campaign", Count, nullable=False, comment="campaign.id"),
        sa.Column("n", Count, nullable=False, comment="pick.n"),
        sa.Column("estimator", sa.Text(), nullable=False, comment="an estimator that looked on, by its name"),
        sa.Column("score", sa.Float(), nullable=False, comment="what it thought of the account when that was picked"),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.id"], name=op.f("fk_shadow_campaign")),
        sa.PrimaryKeyConstraint("campaign", "n", "estimator", name=op.f("pk_shadow")),
        comment="what estimators that did not steer thought of the picks",
        sqlite_with_rowid=False,
    )
    put_rows_back("shadow", "shadow", SHADOW)


def _daemon() -> None:
    op.create_table(
        "daemon",
        sa.Column("id", sa.Text(), nullable=False, comment="host, process id and start: one run of a daemon"),
        sa.Column("host", sa.Text(), nullable=False, comment="the machine it runs on"),
        sa.Column("pid", Count, nullable=False, comment="its process id there"),
        sa.Column("began_at", sa.Text(), nullable=False, comment="when it began"),
        sa.Column("beat_at", sa.Text(), nullable=False, comment="when it was last heard of"),
        sa.Column("stop_at", sa.Text(), nullable=True, comment="when somebody asked it to stop; NULL: nobody did"),
        sa.Column("ended_at", sa.Text(), nullable=True, comment="when it left; NULL: it runs, or was killed"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_daemon")),
        comment="the daemons that ran campaigns of this database",
    )
    put_rows_back("daemon", "daemon", DAEMON)


def _lease() -> None:
    states = "running, waiting, resting, paused, done, stopped or stalled"
    op.create_table(
        "lease",
        sa.Column("campaign", Count, autoincrement=False, nullable=False, comment="campaign.id"),
        sa.Column("daemon", sa.Text(), nullable=False, comment="daemon.id of who has it, or had it last"),
        sa.Column("taken_at", sa.Text(), nullable=False, comment="when it was taken"),
        sa.Column("beat_at", sa.Text(), nullable=False, comment="when its holder last said that it has it"),
        sa.Column(
            "released_at",
            sa.Text(),
            nullable=True,
            comment="when it was let go; NULL: it is held, or its holder was killed",
        ),
        sa.Column("state", sa.String(length=16), nullable=False, comment=states),
        sa.Column("why", sa.Text(), nullable=False, comment="what it waits for, or why it ended"),
        sa.Column(
            "until", sa.Text(), nullable=True, comment="when it goes on by itself; NULL: it runs, or nobody can say"
        ),
        sa.Column("moved_at", sa.Text(), nullable=True, comment="when the last reply or step of it came"),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.id"], name=op.f("fk_lease_campaign")),
        sa.ForeignKeyConstraint(["daemon"], ["daemon.id"], name=op.f("fk_lease_daemon")),
        sa.PrimaryKeyConstraint("campaign", name=op.f("pk_lease")),
        comment="which daemon runs which campaign, and how that goes",
    )
    put_rows_back("lease", "lease", LEASE)
