"""Checks whether platforms still show what is stored: their jobs, and when each post and account was last checked."""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import is_kept, put_rows_back, set_table_aside

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

JOB = (
    "id", "campaign", "kind", "name", "job", "status", "ids", "last", "since", "began_at", "uploaded_at", "looked_at",
    "ended_at", "removed_posts", "removed_accounts",
)  # fmt: skip


def upgrade() -> None:
    count = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
    _make_jobs(count)
    for table, key, kind, whole in (
        ("post_check", "post", sa.Text(), "post.id"),
        ("account_check", "node", count, "account.node"),
    ):
        what = table.partition("_")[0]
        shown = f"{'an' if what == 'account' else 'a'} {what}"
        op.create_table(
            table,
            sa.Column(key, kind, nullable=False, autoincrement=False, comment=whole),
            sa.Column("checked_at", sa.Text(), nullable=False, comment="compliance_job.began_at of its latest check"),
            sa.ForeignKeyConstraint([key], [whole], name=f"fk_{table}_{key}_{what}"),
            sa.PrimaryKeyConstraint(key, name=f"pk_{table}"),
            comment=f"when the platform was last asked whether it still shows {shown}",
            sqlite_with_rowid=False,
        )
        op.create_index(f"ix_{table}_checked_at", table, ["checked_at"])
    put_rows_back("compliance_job", "compliance_job", JOB)
    if is_kept("post_check"):  # an older program may have removed posts
        op.execute("delete from kept_post_check where post not in (select id from post)")
    put_rows_back("post_check", "post_check", ("post", "checked_at"))
    put_rows_back("account_check", "account_check", ("node", "checked_at"))


def downgrade() -> None:
    for table in ("account_check", "post_check", "compliance_job"):
        set_table_aside(table)


def _make_jobs(count: sa.types.TypeEngine[int]) -> None:
    op.create_table(
        "compliance_job",
        sa.Column("id", count, nullable=False, comment="order of the jobs of this database"),
        sa.Column("campaign", count, nullable=False, comment="campaign.id whose tokens it uses"),
        sa.Column("kind", sa.String(8), nullable=False, comment="what was checked: posts or users"),
        sa.Column("name", sa.Text(), nullable=False, comment="the name by which the platform lists it"),
        sa.Column("job", sa.Text(), comment="the platform's id of it; NULL: not known yet, or no platform's job"),
        sa.Column(
            "status",
            sa.String(16),
            nullable=False,
            comment="begun, created, uploaded, ready, applied, done, failed or expired",
        ),
        sa.Column("ids", count, nullable=False, comment="how many ids were checked"),
        sa.Column("last", sa.Boolean(), nullable=False, comment="whether nothing was left to check after it"),
        sa.Column(
            "since",
            sa.Text(),
            nullable=False,
            comment="begin of the check that it is part of: older checks are repeated",
        ),
        sa.Column("began_at", sa.Text(), nullable=False, comment="when it began: checked_at of what it checks"),
        sa.Column("uploaded_at", sa.Text(), comment="when the ids were uploaded; NULL: they were not"),
        sa.Column("looked_at", sa.Text(), comment="when its status was last requested; NULL: never"),
        sa.Column("ended_at", sa.Text(), comment="when its result was applied, or it failed; NULL: it is under way"),
        sa.Column("removed_posts", count, comment="posts removed by its result; NULL: not applied yet"),
        sa.Column("removed_accounts", count, comment="accounts emptied by its result; NULL: not applied yet"),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.id"], name="fk_compliance_job_campaign_campaign"),
        sa.PrimaryKeyConstraint("id", name="pk_compliance_job"),
        sa.UniqueConstraint("began_at", name="uq_compliance_job_began_at"),
        sa.UniqueConstraint("name", name="uq_compliance_job_name"),
        comment="checks whether the platform still shows what is stored: one row per job or batch of requests",
    )
    op.create_index("ix_compliance_job_campaign", "compliance_job", ["campaign"])
