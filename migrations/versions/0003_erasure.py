"""PostgreSQL's integers get 64 bits; epochs, tombstones, and the platform's answers as they came."""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import put_back, put_rows_back, set_aside, set_table_aside

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

COUNTS = {
    "account": ("node", "followers", "following", "posts", "listed"),
    "campaign": ("id", "seed"),
    "hit": ("campaign", "occurrences"),
    "link": ("campaign", "n", "position", "node"),
    "mention": ("node",),
    "outcome": ("campaign", "n", "node", "occurrences", "posts"),
    "pick": ("campaign", "n", "batch", "node"),
    "post": ("author", "likes", "replies", "reposts", "quotes", "bookmarks", "views"),
    "request": (
        "id", "campaign", "n", "part", "items", "most", "status", "posts", "cost", "new_posts", "new_users",
    ),
}  # fmt: skip
Count = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
SPENT = ["campaign", "sent_at", "endpoint", "kind", "arrived_at", "items", "posts", "most", "cost"]
EPOCH = ("campaign", "number", "first", "began_at", "why")
TOMBSTONE = ("digest", "kind", "why", "at")
RESPONSE = ("request", "url", "headers", "body")
MISSING = "NULL, or why: suspended, protected, deleted, unknown, temporary,"
ACT = "search, resolve, seed"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":  # no earlier version knew it: these tables are empty
        _widen()
    op.add_column(
        "account",
        sa.Column(
            "forgotten_at",
            sa.Text(),
            nullable=True,
            comment="when the account was forgotten: nothing else of it is left; NULL: it was not",
        ),
    )
    op.create_index("ix_request_spent", "request", SPENT)
    daily = sa.text("headers like '%true]%'")
    op.create_index("ix_request_daily", "request", ["campaign", "sent_at"], sqlite_where=daily, postgresql_where=daily)
    _epoch()
    op.create_table(
        "tombstone",
        sa.Column(
            "digest",
            sa.String(length=32),
            nullable=False,
            comment="hash of platform, kind and id (or name): nothing readable",
        ),
        sa.Column("kind", sa.String(length=8), nullable=False, comment="user, name (of a user) or post"),
        sa.Column("why", sa.Text(), nullable=False, comment="forget, compliance:<reason> or retain"),
        sa.Column("at", sa.Text(), nullable=False, comment="when it was forgotten"),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_tombstone")),
        comment="what was forgotten, and is not collected again",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "response",
        sa.Column("request", Count, autoincrement=False, nullable=False, comment="request.id"),
        sa.Column("url", sa.Text(), nullable=False, comment="the address that was asked, with its parameters"),
        sa.Column(
            "headers", sa.Text(), nullable=False, comment="JSON list of [name, value]: the headers of the answer"
        ),
        sa.Column("body", sa.LargeBinary(), nullable=False, comment="the answer's bytes, compressed with zlib"),
        sa.ForeignKeyConstraint(["request"], ["request.id"], name=op.f("fk_response_request")),
        sa.PrimaryKeyConstraint("request", name=op.f("pk_response")),
        comment="the platform's answers as they came, kept on request",
    )
    put_back("account", "node", ["forgotten_at"])
    put_rows_back("tombstone", "tombstone", TOMBSTONE)
    put_rows_back("response", "response", RESPONSE)


def downgrade() -> None:
    op.drop_index("ix_request_daily", table_name="request")
    op.drop_index("ix_request_spent", table_name="request")
    set_aside("account", "node", ["forgotten_at"], "forgotten_at is not null")
    op.drop_column("account", "forgotten_at")
    for name in ("response", "tombstone", "epoch"):
        set_table_aside(name)


def _epoch() -> None:
    """Create the epochs; an existing campaign has had one so far."""
    op.create_table(
        "epoch",
        sa.Column("campaign", Count, nullable=False, comment="campaign.id"),
        sa.Column("number", Count, nullable=False, comment="0, 1, 2, ..."),
        sa.Column("first", Count, nullable=False, comment="pick.n with which it begins"),
        sa.Column("began_at", sa.Text(), nullable=False, comment="when it began"),
        sa.Column("why", sa.Text(), nullable=False, comment="begun, or what changed the history: forget, retain"),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.id"], name=op.f("fk_epoch_campaign")),
        sa.PrimaryKeyConstraint("campaign", "number", name=op.f("pk_epoch")),
        comment="spans of a campaign in which its topic and its history did not change",
        sqlite_with_rowid=False,
    )
    put_rows_back("epoch", "epoch", EPOCH)
    op.execute(
        "insert into epoch (campaign, number, first, began_at, why) "
        "select id, 0, 0, created_at, 'begun' from campaign where true on conflict do nothing"
    )


def _widen() -> None:
    for table, names in COUNTS.items():
        for name in names:
            op.alter_column(table, name, type_=sa.BigInteger(), existing_type=sa.Integer())
    op.alter_column("post", "lang", type_=sa.Text(), existing_type=sa.String(16))
    op.alter_column(
        "outcome", "missing", existing_type=sa.Text(), comment=f"{MISSING} forgotten, same-as:<node>",
        existing_comment=f"{MISSING} same-as:<node>",
    )  # fmt: skip
    op.alter_column(
        "pick", "act", existing_type=sa.String(8), comment=f"{ACT}, expand or import",
        existing_comment=f"{ACT} or expand",
    )  # fmt: skip
