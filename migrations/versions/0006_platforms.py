"""Bluesky, Mastodon and the web: who follows whom, and the parts of posts that count for a link."""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import is_kept, put_rows_back, set_table_aside

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

Count = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
FOLLOW = ("node", "followed", "seen_at")
KINDS, OLD_KINDS = (
    "mention, reply, repost or quote: the strongest that applies",
    "mention, reply or repost: the strongest that applies",
)
TOMBSTONES, OLD_TOMBSTONES = (f"user, name (of a user){more} or post" for more in (", short (of a name)", ""))
PLATFORMS, OLD_PLATFORMS = "x, bluesky, mastodon or web", "x"
WHYS, OLD_WHYS = (
    f"NULL, or why: suspended, protected, deleted, unknown, temporary, {more}forgotten, same-as:<node>"
    for more in ("excluded, opted-out, ", "")
)


def upgrade() -> None:
    spans = "JSON list of [from, to]: characters of the text that count; NULL: all of them"
    op.add_column("mention", sa.Column("spans", sa.Text(), nullable=True, comment=spans))
    _spans_back()
    op.create_table(
        "follow",
        sa.Column("node", Count, nullable=False, comment="account.node that follows"),
        sa.Column("followed", Count, nullable=False, comment="account.node it follows"),
        sa.Column("seen_at", sa.Text(), nullable=False, comment="when the platform first said so"),
        sa.ForeignKeyConstraint(["followed"], ["account.node"], name=op.f("fk_follow_followed")),
        sa.ForeignKeyConstraint(["node"], ["account.node"], name=op.f("fk_follow_node")),
        sa.PrimaryKeyConstraint("node", "followed", name=op.f("pk_follow")),
        comment="who follows whom, where a campaign asked for it",
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_follow_followed"), "follow", ["followed"], unique=False)
    put_rows_back("follow", "follow", FOLLOW)
    _say(KINDS, OLD_KINDS, PLATFORMS, OLD_PLATFORMS, WHYS, OLD_WHYS, TOMBSTONES, OLD_TOMBSTONES)


def downgrade() -> None:
    set_table_aside("follow")
    op.execute("create table kept_mention as select post, node, spans from mention where spans is not null")
    op.drop_column("mention", "spans")
    _say(OLD_KINDS, KINDS, OLD_PLATFORMS, PLATFORMS, OLD_WHYS, WHYS, OLD_TOMBSTONES, TOMBSTONES)


def _spans_back() -> None:
    if is_kept("mention"):
        kept = "from kept_mention k where k.post = mention.post and k.node = mention.node"
        op.execute(f"update mention set spans = (select k.spans {kept}) where exists (select 1 {kept})")  # noqa: S608 - names of our own
        op.drop_table("kept_mention")


def _say(*said: str) -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    kinds, old_kinds, platforms, old_platforms, whys, old_whys, tombs, old_tombs = said
    op.alter_column("mention", "kind", existing_type=sa.String(8), comment=kinds, existing_comment=old_kinds)
    for table in ("account", "campaign"):
        op.alter_column(
            table, "platform", existing_type=sa.String(16), comment=platforms, existing_comment=old_platforms
        )
    op.alter_column("tombstone", "kind", existing_type=sa.String(8), comment=tombs, existing_comment=old_tombs)
    op.alter_column("outcome", "missing", existing_type=sa.Text(), comment=whys, existing_comment=old_whys)
